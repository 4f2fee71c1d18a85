/**
 * Keeping secrets off the page: the values of fields with certain names are masked wherever a value
 * or a text is shown, before it becomes HTML or JSON.
 *
 * @module
 */

/** Names that are always masked: nobody ever wants to read these in a browser. */
export const ALWAYS_REDACTED: readonly string[] = [
  "password",
  "passwd",
  "passphrase",
  "secret",
  "clientSecret",
  "token",
  "accessToken",
  "refreshToken",
  "idToken",
  "apiKey",
  "privateKey",
  "authorization",
  "cookie",
];

/** What stands in the place of a value. */
export const MASK = "••••••";

/** Masks values. */
export interface Redactor {
  /** Whether the value of a field of this name is masked. */
  hides(name: string): boolean;
  /** A text with the values after such names masked, as in `password=…` or `"token": "…"`. */
  text(text: string): string;
}

/** Makes a redactor for names, which are compared without case, hyphens and underscores. */
export function createRedactor(names: readonly string[]): Redactor {
  const all = [...new Set([...ALWAYS_REDACTED, ...names])];
  const hidden = new Set(all.map(plain));
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}])(${all.map(loose).join("|")})(["']?\\s*[:=]\\s*)` +
      `("(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*'|(?:bearer |basic )?[^\\s,;&)}\\]"']+)`,
    "giu",
  );
  return {
    hides: (name) => hidden.has(plain(name)),
    text: (text) => text.replace(pattern, (_, name, between) => `${name}${between}${MASK}`),
  };
}

function plain(name: string): string {
  return name.replace(/[-_\s]/g, "").toLowerCase();
}

/** `apiKey` also as `api_key`, `API-KEY` and `apikey`. */
function loose(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").split(/[-_\s]+/).filter(Boolean);
  return words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[-_ ]?");
}
