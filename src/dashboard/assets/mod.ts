/**
 * The files that pages load. Their names hold a hash of their content, so that a browser may keep
 * them for ever and still never shows an old one with a new page.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { respond } from "../responses.ts";
import { CLIENT_TEXT } from "./client.ts";
import { STYLE_BASE } from "./style_base.ts";
import { STYLE_PARTS } from "./style_parts.ts";
import { STYLE_WORKFLOW } from "./style_workflow.ts";

/** A file that pages load. */
export interface Asset {
  /** Its name, with a hash of its content. */
  readonly name: string;
  /** Its content. */
  readonly text: string;
  /** Its type. */
  readonly type: string;
  /** The hash of its content, as a Content-Security-Policy has it. */
  readonly sha256: string;
}

function asset(stem: string, ending: string, type: string, text: string): Asset {
  const hash = createHash("sha256").update(text).digest();
  const name = `${stem}-${hash.toString("hex").slice(0, 10)}.${ending}`;
  return { name, text, type, sha256: hash.toString("base64") };
}

/** The style sheet. */
export const STYLE: Asset = asset(
  "pawl",
  "css",
  "text/css; charset=utf-8",
  STYLE_BASE + STYLE_PARTS + STYLE_WORKFLOW,
);

/** The client's module. */
export const CLIENT: Asset = asset(
  "pawl",
  "js",
  "text/javascript; charset=utf-8",
  CLIENT_TEXT,
);

/** The icon of the browser's tab. */
export const ICON: Asset = asset(
  "pawl",
  "svg",
  "image/svg+xml; charset=utf-8",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#2a78d6"
  stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"><circle cx="12" cy="14" r="7.5"/><path
  d="M20 3 L13.5 8.5 L17 11"/><circle cx="12" cy="14" r="1.4" fill="#2a78d6"/></svg>`,
);

const ASSETS: ReadonlyMap<string, Asset> = new Map(
  [STYLE, CLIENT, ICON].map((one) => [one.name, one]),
);

/** The response with a file, or null when there is none of this name. */
export function assetResponse(name: string): Response | null {
  const found = ASSETS.get(name);
  if (found === undefined) return null;
  return respond(found.text, {
    headers: {
      "content-type": found.type,
      "cache-control": "private, max-age=31536000, immutable",
    },
  });
}
