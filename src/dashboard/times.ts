/**
 * Instants on a page. The server does not know the reader's time zone: it writes UTC, and the
 * client's module writes the same text in the reader's zone, in the same width, before it is seen.
 *
 * @module
 */

import { type Html, html } from "./html.ts";
import { coarse, relative } from "./words.ts";

/** An instant as a date and a time. */
export function at(instant: Date): Html {
  const iso = instant.toISOString();
  const text = `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
  return html`<time datetime="${iso}" data-time="at" title="${iso}">${text}</time>`;
}

/** An instant as a distance from now, which the client counts on. */
export function ago(instant: Date, now: Date): Html {
  const iso = instant.toISOString();
  const text = relative(instant.getTime(), now.getTime());
  return html`<time datetime="${iso}" data-time="ago" title="${iso}">${text}</time>`;
}

/** How long ago an instant was, which the client counts on. */
export function elapsed(instant: Date, now: Date): Html {
  const iso = instant.toISOString();
  const text = coarse(now.getTime() - instant.getTime());
  return html`<time datetime="${iso}" data-time="for" title="${iso}">${text}</time>`;
}

/** A length of time that still grows, which the client counts on. */
export function growing(ms: number, now: Date): Html {
  const since = new Date(now.getTime() - ms).toISOString();
  return html`<span data-time="for" data-at="${since}">${coarse(ms)}</span>`;
}

/** An instant in a sentence for tooltips: the client replaces what is in the braces. */
export function inTip(instant: Date): string {
  return `{${instant.toISOString()}}`;
}
