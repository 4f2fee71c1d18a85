/**
 * Who may see the dashboard. Without `authorize` only this very machine may: the request must name
 * the loopback interface, come from it where that is known, and not have passed a proxy, because a
 * proxy on the same machine would make the whole world look local.
 *
 * @module
 */

import type { Settings } from "./options.ts";

/** What is to be done with a request. */
export type Admission =
  | { readonly kind: "admitted" }
  /** Nobody decides about strangers, and this is one. */
  | { readonly kind: "stranger"; readonly why: string }
  /** `authorize` said no. */
  | { readonly kind: "refused" }
  /** `authorize` has an answer of its own. */
  | { readonly kind: "answered"; readonly response: Response };

/** Decides about a request; `connection` is what a server tells about where it came from. */
export async function admit(
  request: Request,
  connection: unknown,
  { authorize }: Pick<Settings, "authorize">,
): Promise<Admission> {
  if (authorize === null) {
    const why = strangeness(request, connection);
    return why === null ? { kind: "admitted" } : { kind: "stranger", why };
  }
  const answer = await authorize(request);
  if (answer instanceof Response) return { kind: "answered", response: answer };
  // Anything but a plain true is a no: a forgotten `return` must not open the door.
  return answer === true ? { kind: "admitted" } : { kind: "refused" };
}

const PROXY_HEADERS = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/** Why a request may not be of this machine; null: it is. */
function strangeness(request: Request, connection: unknown): string | null {
  const { hostname } = new URL(request.url);
  if (!isLoopback(hostname)) return `it asks for the host ${hostname}`;
  const host = request.headers.get("host");
  if (host !== null && !isLoopback(hostOf(host))) return `it asks for the host ${host}`;
  const remote = remoteOf(connection);
  if (remote !== null && !isLoopback(remote)) return `it comes from ${remote}`;
  const header = PROXY_HEADERS.find((name) => request.headers.has(name));
  return header === undefined ? null : `it came through a proxy (header ${header})`;
}

/** The host without its port. */
function hostOf(host: string): string {
  return host.replace(/:\d+$/, "");
}

/** Deno.serve passes `{ remoteAddr: { hostname } }`, and so does the adapter for node:http. */
function remoteOf(connection: unknown): string | null {
  if (typeof connection !== "object" || connection === null) return null;
  const { remoteAddr } = connection as { remoteAddr?: unknown };
  if (typeof remoteAddr !== "object" || remoteAddr === null) return null;
  const { hostname } = remoteAddr as { hostname?: unknown };
  return typeof hostname === "string" ? hostname : null;
}

/** Whether a name or an address is this machine's own. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "").replace(/^::ffff:/, "").replace(
    /\.$/,
    "",
  );
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}
