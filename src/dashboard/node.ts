/**
 * The adapter for node:http, and so for Express and whatever else speaks its language.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";

/** A handler of requests, as `dashboard()` makes one. */
export type FetchHandler = (request: Request, connection?: unknown) => Promise<Response>;

/** A listener of node:http. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/**
 * Makes a listener of node:http from a handler of requests.
 *
 * @example In Node
 * ```ts ignore
 * import { createServer } from "node:http";
 * import { dashboard, toNodeListener } from "@pawl/pawl/dashboard";
 *
 * createServer(toNodeListener(dashboard(engine))).listen(8080, "127.0.0.1");
 * ```
 */
export function toNodeListener(handler: FetchHandler): NodeListener {
  return async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    try {
      const remoteAddr = { hostname: incoming.socket.remoteAddress ?? "" };
      const response = await handler(requestOf(incoming, gone.signal), { remoteAddr });
      outgoing.writeHead(response.status, headersOf(response));
      if (response.body === null) outgoing.end();
      else await pipeline(Readable.fromWeb(response.body as WebStream), outgoing);
    } catch (error) {
      // A reader who went away is no error; and to anybody else nothing more can be said.
      if (outgoing.headersSent || gone.signal.aborted) outgoing.destroy();
      else outgoing.writeHead(error instanceof TypeError ? 400 : 500).end();
    }
  };
}

/** Express cuts the mount path off `url` and keeps the whole in `originalUrl`. */
function requestOf(
  incoming: IncomingMessage & { originalUrl?: string },
  signal: AbortSignal,
): Request {
  const { method = "GET", headers } = incoming;
  const isSecure = (incoming.socket as { encrypted?: boolean }).encrypted === true;
  const origin = `${isSecure ? "https" : "http"}://${headers.host ?? "localhost"}`;
  const hasBody = method !== "GET" && method !== "HEAD";
  const init: RequestInit & { duplex?: "half" } = {
    method,
    headers: requestHeaders(incoming),
    signal,
  };
  if (hasBody) {
    init.body = Readable.toWeb(incoming) as unknown as ReadableStream;
    init.duplex = "half";
  }
  return new Request(new URL(incoming.originalUrl ?? incoming.url ?? "/", origin), init);
}

function requestHeaders({ headers }: IncomingMessage): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // HTTP/2 has names that begin with a colon; they are no headers here.
    if (value === undefined || name.startsWith(":")) continue;
    for (const one of [value].flat()) all.append(name, one);
  }
  return all;
}

function headersOf({ headers }: Response): Record<string, string | string[]> {
  const cookies = headers.getSetCookie();
  const all: Record<string, string | string[]> = Object.fromEntries(headers);
  return cookies.length === 0 ? all : { ...all, "set-cookie": cookies };
}
