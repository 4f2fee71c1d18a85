/**
 * A wire between a client and a PostgreSQL server that can be cut at a chosen message.
 *
 * @module
 */

/** What becomes of a message: the server gets it or not, and the client hears of it or not. */
export type Fate = "arrives" | "never arrives" | "loses its answer";

/** A wire that can be cut. */
export interface Wire extends AsyncDisposable {
  /** The server's address, through the wire. */
  readonly url: string;
  /** Decides the fate of what a client sends; it sees whole flights, as they are not longer. */
  decide: (sent: string) => Fate;
  /** Cuts all connections. */
  cut(): void;
  /** Takes no more connections until it is told otherwise. */
  refuse(refusing: boolean): void;
}

/** Opens a wire to the server of a URL. */
export function openWire(url: string): Wire {
  const target = new URL(url);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const pumps = new Set<Promise<void>>();
  const latin = new TextDecoder("latin1");
  let refusing = false;

  function close(...connections: readonly Deno.Conn[]): void {
    for (const one of connections) if (open.delete(one)) one.close();
  }

  async function pump(
    from: Deno.Conn,
    to: Deno.Conn,
    forward: (data: Uint8Array<ArrayBuffer>) => Promise<boolean>,
  ): Promise<void> {
    const buffer = new Uint8Array(1_024 * 1_024);
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
    open.add(client);
    if (refusing) return close(client);
    const server = await Deno.connect({ hostname: target.hostname, port: Number(target.port) });
    open.add(server);
    let deaf = false;
    const there = pump(client, server, async (data) => {
      const fate = wire.decide(latin.decode(data));
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
      const pumping = connect(client).catch(() => close(client));
      pumps.add(pumping);
      void pumping.then(() => pumps.delete(pumping));
    }
  }
  const accepting = accept();

  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String((listener.addr as Deno.NetAddr).port);
  const wire: Wire = {
    url: through.href,
    decide: () => "arrives",
    cut: () => close(...open),
    refuse(whether) {
      refusing = whether;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      close(...open);
      await accepting;
      await Promise.all(pumps);
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
