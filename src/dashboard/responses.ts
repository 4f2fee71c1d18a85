/**
 * Responses with the headers that keep a browser from doing more than it should.
 *
 * @module
 */

/** Nothing inline, nothing from elsewhere, nobody may frame it. */
function policy(style: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${style}`,
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const COMMON: Readonly<Record<string, string>> = {
  "content-security-policy": policy("'self'"),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Not `no-referrer`: with that a browser would hide the origin of a form, too.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
  "x-robots-tag": "noindex, nofollow",
  // What a page shows is nobody else's, and old in a second.
  "cache-control": "no-store",
};

/** Makes a response with the common headers. */
export function respond(
  body: BodyInit | null,
  { status = 200, headers = {} }: {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Response {
  return new Response(body, { status, headers: { ...COMMON, ...headers } });
}

/** A page. */
export function pageResponse(
  text: string,
  { status = 200, cookie = null, styleHash = null }: {
    readonly status?: number;
    readonly cookie?: string | null;
    /** The hash of the only style sheet that stands in the page itself. */
    readonly styleHash?: string | null;
  } = {},
): Response {
  return respond(text, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      ...(cookie === null ? {} : { "set-cookie": cookie }),
      ...(styleHash === null ? {} : { "content-security-policy": policy(`'sha256-${styleHash}'`) }),
    },
  });
}

/** Data for machines. */
export function jsonResponse(value: unknown, status: number = 200): Response {
  return respond(`${JSON.stringify(value)}\n`, {
    status,
    headers: { "content-type": "application/json; charset=utf-8" },
  });
}

/** Sends the browser to a relative address with a GET. */
export function seeOther(to: string): Response {
  return respond(null, { status: 303, headers: { location: to } });
}

/** The same answer without its body; a stream that nobody reads must not go on. */
export async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}
