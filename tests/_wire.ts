/**
 * A wire between a client and a database server: a small TCP proxy on the loopback interface that
 * does to a connection what networks do. It serves the tests of the drivers, which choose the fate
 * of one message, and the chaos, which harms whatever is under way.
 *
 * A message is what the client sends between two answers; the protocols of PostgreSQL and of MySQL
 * both take turns, so one read holds it unless it is very long.
 *
 * @module
 */

import net from "node:net";
import { Buffer } from "node:buffer";

/**
 * What becomes of a message: the server gets it or not, and the client hears of it or not.
 *
 * - `never arrives`: the connection ends (FIN) instead.
 * - `loses its answer`: the server gets it, and the connection ends instead of the answer.
 * - `is torn`: the server gets the first half of it, and both ends a reset (RST).
 * - `stalls`: nobody hears anything more, and nobody is told: the connection is half-open.
 * - bytes: the server never sees it, and these are the answer.
 */
export type Fate =
  | "arrives"
  | "never arrives"
  | "loses its answer"
  | "is torn"
  | "stalls"
  | Uint8Array;

/** A wire that can be harmed. */
export interface Wire extends AsyncDisposable {
  /** The server's address, through the wire. */
  readonly url: string;
  /** Decides the fate of what a client sends, as text of one character per byte. */
  decide: (sent: string) => Fate;
  /** How many connections go through it. */
  readonly size: number;
  /** Ends all connections; how many. */
  cut(): number;
  /** Resets all connections (RST); how many. */
  reset(): number;
  /** Makes all connections half-open: nothing more comes through, and nobody is told; how many. */
  stall(): number;
  /** Lets so many bytes through every 5 ms, each way of each connection; null: all of them. */
  slow(bytes: number | null): void;
  /** Takes no more connections until it is told otherwise. */
  refuse(refusing: boolean): void;
}

/** One connection: both of its ends, and whether it is half-open. */
interface Link {
  readonly client: net.Socket;
  readonly server: net.Socket;
  stalled: boolean;
}

const TICK_MS = 5;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "mysql:": 3306, "mariadb:": 3306 };

/** Opens a wire to the server of a URL. */
export async function openWire(url: string): Promise<Wire> {
  const target = new URL(url);
  const port = Number(target.port || DEFAULT_PORTS[target.protocol] || 5432);
  const links = new Set<Link>();
  let refusing = false;
  let bytesPerTick: number | null = null;

  function drop(link: Link, how: "end" | "reset"): void {
    if (!links.delete(link)) return;
    for (const socket of [link.client, link.server]) {
      if (how === "reset") socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  function dropAll(how: "end" | "reset"): number {
    const all = [...links];
    for (const link of all) drop(link, how);
    return all.length;
  }

  /** Writes, all at once or drop by drop; what is left when the link goes is lost with it. */
  async function send(link: Link, to: net.Socket, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && links.has(link);) {
      const part = bytes.subarray(at, bytesPerTick === null ? bytes.length : at + bytesPerTick);
      to.write(part);
      at += part.length;
      if (at < bytes.length) await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  }

  /** Hands on what comes from one end, in order, as long as the link is whole. */
  function pump(link: Link, from: net.Socket, forward: (bytes: Uint8Array) => Promise<void>): void {
    let last: Promise<void> = Promise.resolve();
    from.on("data", (data: Uint8Array) => {
      last = last.then(() => link.stalled ? undefined : forward(data));
    });
    // Whoever closed the other end knows why.
    from.on("error", () => {});
    from.on("close", () => void last.then(() => drop(link, "end")));
  }

  function connect(client: net.Socket): void {
    if (refusing) return void client.on("error", () => {}).destroy();
    const server = net.connect(port, target.hostname);
    const link: Link = { client, server, stalled: false };
    links.add(link);
    for (const socket of [client, server]) socket.setNoDelay(true);
    let deaf = false;
    pump(link, client, async (bytes) => {
      const fate = wire.decide(Buffer.from(bytes).toString("latin1"));
      if (fate === "never arrives") return drop(link, "end");
      if (typeof fate === "object") return await send(link, client, fate);
      if (fate === "stalls") return void (link.stalled = true);
      if (fate === "is torn") {
        await send(link, server, bytes.subarray(0, Math.ceil(bytes.length / 2)));
        return drop(link, "reset");
      }
      deaf = fate === "loses its answer";
      await send(link, server, bytes);
    });
    pump(link, server, async (bytes) => deaf ? drop(link, "end") : await send(link, client, bytes));
  }

  const listener = net.createServer(connect);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String((listener.address() as net.AddressInfo).port);
  const wire: Wire = {
    url: through.href,
    decide: () => "arrives",
    get size() {
      return links.size;
    },
    cut: () => dropAll("end"),
    reset: () => dropAll("reset"),
    stall() {
      for (const link of links) link.stalled = true;
      return links.size;
    },
    slow(bytes) {
      bytesPerTick = bytes;
    },
    refuse(whether) {
      refusing = whether;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => listener.close(resolve));
      refusing = true;
      const sockets = [...links].flatMap(({ client, server }) => [client, server]);
      const gone = sockets.map((one) => new Promise((resolve) => one.once("close", resolve)));
      dropAll("end");
      await Promise.all([closed, ...gone]);
    },
  };
  return wire;
}

/** Decides once, for the first message that holds a text; everything else arrives. */
export function once(text: string, fate: Fate): (sent: string) => Fate {
  let done = false;
  return (sent) => {
    if (done || !sent.includes(text)) return "arrives";
    done = true;
    return fate;
  };
}

/** COM_QUERY with a text; MySQL (not MariaDB) has two more bytes for attributes. */
// deno-lint-ignore no-control-regex -- the protocol is made of such characters
const MYSQL_QUERY = /^[\s\S]{4}\x03(?:\x00\x01)?([\s\S]*)$/;

/** The statement in a message of MySQL's text protocol; empty when it holds none. */
export function mysqlStatement(sent: string): string {
  return MYSQL_QUERY.exec(sent)?.[1] ?? "";
}

/** An error packet of MySQL, as the answer to a statement. */
export function mysqlError(number: number, state: string, message: string): Uint8Array {
  const text = new TextEncoder().encode(`#${state}${message}`);
  const length = text.length + 3;
  const header = [length & 255, (length >> 8) & 255, length >> 16, 1, 0xff];
  return new Uint8Array([...header, number & 255, number >> 8, ...text]);
}
