/**
 * Protection of everything that changes something. A page of another site can make a browser send
 * a request, with the reader's cookies. So two things must hold, each of which would do: the browser
 * says that the request comes from this very origin, and the form carries a token that only a page
 * of this origin could have read: the same that stands in a cookie that no script can see.
 *
 * @module
 */

import { randomBytes, timingSafeEqual } from "node:crypto";

/** The name of the form's field and of the cookie. */
export const TOKEN = "pawl_csrf";

const SHAPE = /^[A-Za-z0-9_-]{32}$/;

/** The token that a browser has, or a fresh one with the header that gives it to the browser. */
export interface Ticket {
  /** The token, for the forms of a page. */
  readonly token: string;
  /** The `Set-Cookie` header; null when the browser has the token already. */
  readonly cookie: string | null;
}

/** Finds or makes the token of a browser. */
export function ticketOf(request: Request): Ticket {
  const known = cookieToken(request);
  if (known !== null) return { token: known, cookie: null };
  const token = randomBytes(24).toString("base64url");
  const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
  return { token, cookie: `${TOKEN}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}` };
}

/** Why a request that changes something is not to be trusted; null: it is. */
export function distrust(request: Request, form: URLSearchParams): string | null {
  const origin = foreignness(request);
  if (origin !== null) return origin;
  const known = cookieToken(request);
  const sent = form.get(TOKEN) ?? "";
  if (known === null) return "the cookie that its token belongs to is missing";
  if (!SHAPE.test(sent) || !timingSafeEqual(bytes(sent), bytes(known))) {
    return "its token is not the one that this browser was given";
  }
  return null;
}

/** Browsers that do not say where a request comes from still say from which origin. */
function foreignness({ headers, url }: Request): string | null {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" ? null : `the browser calls it ${site}`;
  const origin = headers.get("origin");
  if (origin === null) return "it does not say which page it comes from";
  const host = headers.get("host") ?? new URL(url).host;
  return hostOf(origin) === host.toLowerCase() ? null : `it comes from a page of ${origin}`;
}

function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}

function cookieToken({ headers }: Request): string | null {
  for (const pair of (headers.get("cookie") ?? "").split(";")) {
    const [name, value = ""] = pair.trim().split("=");
    if (name === TOKEN && SHAPE.test(value)) return value;
  }
  return null;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
