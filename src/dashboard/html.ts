/**
 * The one place where text becomes HTML.
 *
 * `html` escapes whatever is put into it, in text and in attributes alike, unless it is a result of
 * `html` itself. There is no other way to make such a result, so that nothing that comes from a row,
 * a URL or an error can ever be markup. Attributes must be written in double quotes.
 *
 * @module
 */

/** The texts that `html` has made; an object that merely looks like one is escaped. */
const made = new WeakMap<object, string>();

/** A piece of HTML that `html` has made. */
export interface Html {
  /** Marks it; the text itself is only for `markupOf`. */
  readonly kind: "html";
}

/** What may be put into `html`: nothing, text, numbers, pieces of HTML, and lists of all these. */
export type Content = Html | string | number | null | undefined | false | readonly Content[];

/** Makes HTML from a template; everything that is put into it is escaped. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  let text = strings[0] as string;
  for (const [at, value] of values.entries()) text += contentOf(value) + strings[at + 1];
  const piece: Html = Object.freeze({ kind: "html" });
  made.set(piece, text);
  return piece;
}

/** The text of a piece of HTML. */
export function markupOf(piece: Html): string {
  const text = made.get(piece);
  if (text === undefined) throw new TypeError("Not HTML: only html`…` makes it");
  return text;
}

/** Nothing at all. */
export const nothing: Html = html``;

function contentOf(value: Content): string {
  if (value === null || value === undefined || value === false) return "";
  if (typeof value === "string") return escape(value);
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return value.map(contentOf).join("");
  return made.get(value as Html) ?? escape(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Control characters mean nothing in HTML and confuse some parsers: they show as a mark. */
function escape(text: string): string {
  return text.toWellFormed()
    .replace(/[&<>"']/g, (char) => ENTITIES[char] as string)
    // deno-lint-ignore no-control-regex -- these are what it is about
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "\uFFFD");
}
