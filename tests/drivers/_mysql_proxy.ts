/**
 * A wire between a client and a MySQL server that can be cut at the very moment of a statement, such
 * as a COMMIT.
 *
 * @module
 */

/** What happens to a statement: the server gets it or not, and the client hears of it or not. */
export type Fate = "pass" | "never arrives" | "loses its answer";

/** A wire that can be cut. */
export interface Proxy {
  /** The server's address, through the wire. */
  readonly url: string;
  /** Decides the fate of each COMMIT; the first has the number 1. */
  onCommit: (number: number) => Fate;
  /** Decides the fate of all other statements. */
  onStatement: (text: string) => Fate;
  /** How many COMMITs were sent so far. */
  commits(): number;
  /** Cuts everything. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** COM_QUERY with a text; MySQL (not MariaDB) has two more bytes for attributes. */
// deno-lint-ignore no-control-regex -- the protocol is made of such characters
const QUERY = /^[\s\S]{4}\x03(?:\x00\x01)?([\s\S]*)$/;

/** Opens a wire to the server of a URL. */
export function openProxy(url: string): Proxy {
  const target = new URL(url);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const pumps = new Set<Promise<void>>();
  const latin = new TextDecoder("latin1");
  let commits = 0;

  function close(...connections: Deno.Conn[]): void {
    for (const one of connections) {
      if (!open.delete(one)) continue;
      one.close();
    }
  }

  async function pump(
    from: Deno.Conn,
    to: Deno.Conn,
    forward: (data: Uint8Array<ArrayBuffer>) => Promise<boolean>,
  ): Promise<void> {
    const buffer = new Uint8Array(64 * 1_024);
    try {
      for (let read = await from.read(buffer); read !== null; read = await from.read(buffer)) {
        if (!await forward(buffer.slice(0, read))) break;
      }
    } catch {
      // Whoever closed the other end knows why.
    }
    close(from, to);
  }

  async function write(to: Deno.Conn, data: Uint8Array<ArrayBuffer>): Promise<void> {
    for (let at = 0; at < data.length;) at += await to.write(data.subarray(at));
  }

  async function connect(client: Deno.Conn): Promise<void> {
    const server = await Deno.connect({
      hostname: target.hostname,
      port: Number(target.port || 3306),
    });
    open.add(client).add(server);
    let deaf = false;
    const there = pump(client, server, async (data) => {
      const text = QUERY.exec(latin.decode(data))?.[1] ?? "";
      const fate = text === "COMMIT" ? proxy.onCommit(++commits) : proxy.onStatement(text);
      if (fate === "never arrives") return false;
      deaf = fate === "loses its answer";
      await write(server, data);
      return true;
    });
    const back = pump(server, client, async (data) => {
      if (deaf) return false;
      await write(client, data);
      return true;
    });
    await Promise.all([there, back]);
  }

  async function accept(): Promise<void> {
    for await (const client of listener) {
      const pumping = connect(client).catch(() => client.close());
      pumps.add(pumping);
      void pumping.then(() => pumps.delete(pumping));
    }
  }
  const accepting = accept();

  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String((listener.addr as Deno.NetAddr).port);
  const proxy: Proxy = {
    url: through.href,
    onCommit: () => "pass",
    onStatement: () => "pass",
    commits: () => commits,
    async [Symbol.asyncDispose]() {
      listener.close();
      close(...open);
      await accepting;
      await Promise.all(pumps);
    },
  };
  return proxy;
}
