/**
 * Keeping the process alive when NATS goes, or refuses somebody.
 *
 * The client takes all its listeners off a socket that it is done with (`@nats-io/transport-node`
 * 3.4). What fails a moment later, a write in Node or a read in Deno, is an error that nobody hears,
 * and such a one ends a process: a wrong password is enough. So every socket of the client gets a
 * listener that stays. There is no other place to give it one than where the client makes its
 * transports, because one that was refused is never handed out.
 *
 * @module
 */

import type { EventEmitter } from "node:events";
import { type NatsConnection, ProtocolHandler } from "@nats-io/transport-node";

/** What makes a transport for each attempt to connect, as far as it is needed. */
interface Handler {
  transport?: { socket?: Partial<EventEmitter> | undefined };
  prepare(): unknown;
}

/** What is behind a connection. */
interface Inside {
  readonly protocol?: Handler;
}

const heard = new WeakSet<Handler>();

/** Hears the sockets of all connections from now on, and of this one of the application. */
export function keepHearing(connection?: NatsConnection): void {
  hearAll(ProtocolHandler.prototype as unknown as Handler);
  const protocol = (connection as (NatsConnection & Inside) | undefined)?.protocol;
  if (protocol === undefined) return;
  // Its client may be another copy of the package.
  hearAll(Object.getPrototypeOf(protocol));
  hearTransport(protocol);
}

function hearAll(prototype: Handler): void {
  if (heard.has(prototype) || typeof prototype.prepare !== "function") return;
  heard.add(prototype);
  const { prepare } = prototype;
  prototype.prepare = function (this: Handler): unknown {
    const pong = prepare.call(this);
    hearTransport(this);
    return pong;
  };
}

/** Hears the socket that a transport has, and those that it is given. */
function hearTransport({ transport }: Handler): void {
  if (transport === undefined) return;
  const held = Object.getOwnPropertyDescriptor(transport, "socket");
  if (held?.get !== undefined) return;
  let current = transport.socket;
  hear(current);
  Object.defineProperty(transport, "socket", {
    get: () => current,
    set(socket: Partial<EventEmitter> | undefined) {
      hear(socket);
      current = socket;
    },
    configurable: true,
    enumerable: true,
  });
}

/** A socket of another transport, such as a WebSocket, has no such listeners. */
function hear(socket: Partial<EventEmitter> | undefined): void {
  const removeAllListeners = socket?.removeAllListeners?.bind(socket);
  if (socket === undefined || removeAllListeners === undefined) return;
  socket.on?.("error", ignore);
  // Without an argument it takes all of them off; an undefined one would be an event's name.
  socket.removeAllListeners = (...events) => removeAllListeners(...events).on("error", ignore);
}

function ignore(): void {
  // Whoever is concerned hears of it from the connection.
}
