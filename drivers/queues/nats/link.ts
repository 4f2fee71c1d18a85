/**
 * The connection to NATS, and whether it holds.
 *
 * @module
 */

import { connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { InvalidInputError } from "../../../src/errors.ts";
import { endsWithin } from "../patience.ts";
import { readUrl } from "../server_queue.ts";
import { keepHearing } from "./hearing.ts";

/** A connection that comes and goes. */
export interface Link {
  /** Whether NATS is connected to now. */
  isThere(): boolean;
  /** Resolves when it is; rejects when the connection has ended for good. */
  reachable(): Promise<NatsConnection>;
  /** The last that went wrong since it was there; null: nothing. */
  trouble(): Error | null;
  /** Rejects when the connection breaks: what was asked then is never answered. */
  broken(): Promise<never>;
  /** Ends the connection, unless it is the application's. */
  close(): Promise<void>;
}

/** How long an attempt to connect may take. */
const CONNECT_MS = 2_000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;
/** How long a connection is given to end. */
const END_MS = 3_000;

/** Makes the link to what `natsQueue` was given; nothing is connected to before it is used. */
export function linkTo(
  source: string | URL | NodeConnectionOptions | NatsConnection,
  tellError: (error: Error) => void,
): Link {
  const isOurs = !isConnection(source);
  const open = connectorOf(source);
  const closing = Promise.withResolvers<void>();
  let connection: NatsConnection | null = null;
  let there = false;
  let closed = false;
  let trouble: Error | null = null;
  let moved = Promise.withResolvers<void>();
  let reaching: Promise<NatsConnection> | null = null;

  function onError(error: Error): void {
    trouble = error;
    tellError(error);
  }

  function note(isThere: boolean): void {
    there = isThere;
    if (isThere) trouble = null;
    moved.resolve();
    moved = Promise.withResolvers();
  }

  /** Follows what becomes of a connection, to its end. */
  async function follow(one: NatsConnection): Promise<void> {
    keepHearing(one);
    note(!one.isClosed());
    for await (const status of one.status()) {
      if (status.type === "disconnect") note(false);
      if (status.type === "reconnect") note(true);
      // Such as a right that this user does not have.
      if (status.type === "error") onError(status.error);
    }
    // The client gives up when the server refuses it; a new connection may be let in.
    if (isOurs) connection = null;
    note(false);
  }

  async function reach(): Promise<NatsConnection> {
    for (let tries = 1; !closed; tries++) {
      try {
        if (connection === null) {
          keepHearing();
          void follow(connection = await open());
        }
      } catch (error) {
        onError(error as Error);
        await endsWithin(closing.promise, Math.min(tries * FIRST_WAIT_MS, LONGEST_WAIT_MS));
        continue;
      }
      if (there) return connection;
      if (connection.isClosed() && !isOurs) break;
      await Promise.race([moved.promise, closing.promise]);
    }
    throw new Error("the connection is closed");
  }

  async function broken(): Promise<never> {
    while (there) await moved.promise;
    throw new Error("the connection broke");
  }

  return {
    isThere: () => there,
    trouble: () => trouble,
    broken,
    reachable() {
      if (there && connection !== null) return Promise.resolve(connection);
      return reaching ??= reach().finally(() => void (reaching = null));
    },
    async close() {
      closed = true;
      closing.resolve();
      await reaching?.catch(() => {});
      if (isOurs && connection !== null) await endsWithin(connection.close(), END_MS);
    },
  };
}

/** How the connection is made. */
function connectorOf(
  source: string | URL | NodeConnectionOptions | NatsConnection,
): () => Promise<NatsConnection> {
  if (isConnection(source)) return () => Promise.resolve(source);
  const usual: NodeConnectionOptions = {
    name: "pawl",
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
  };
  if (typeof source === "string" || source instanceof URL) {
    const options = optionsIn(String(source));
    return () => connect({ ...usual, ...options });
  }
  if (typeof source === "object" && source !== null) return () => connect({ ...usual, ...source });
  throw new InvalidInputError(
    `Cannot use ${String(source)} as NATS: use a URL, options or a connection of @nats-io`,
  );
}

/**
 * What an address says: one server, or those of a cluster with commas in between. The client takes
 * no user and no password from a URL.
 */
function optionsIn(address: string): NodeConnectionOptions {
  const [first, ...others] = address.trim().split(/\s*,\s*/);
  const urls = [first ?? "", ...others.map((one) => one.includes("://") ? one : `nats://${one}`)]
    .map((one) => /^(nats|tls):\/\/./.test(one) ? readUrl(one) : null)
    .filter((one) => one !== null);
  if (urls.length <= others.length) {
    // The address is not repeated: it may hold a password.
    throw new InvalidInputError(
      "Cannot use this address: use a nats: or tls: URL, or several with commas in between",
    );
  }
  const { user = "", password = "" } = urls.find((one) => one.user !== "") ?? {};
  return {
    servers: urls.map(({ url }) => url.host),
    ...(urls.some(({ url }) => url.protocol === "tls:") ? { tls: {} } : {}),
    ...(user === "" ? {} : password === "" ? { token: user } : { user, pass: password }),
  };
}

function isConnection(
  source: string | URL | NodeConnectionOptions | NatsConnection,
): source is NatsConnection {
  return typeof source === "object" && source !== null && "isClosed" in source &&
    typeof source.isClosed === "function";
}
