/**
 * The fingerprint of an error: what two failures have in common when they have the same reason.
 *
 * It is made of the error's class, of its message without the parts that differ from case to case
 * (numbers, ids, quoted words), and of the first frame of the stack that belongs to the application.
 * Lines, columns and the folders above a file are left out, so that a deploy in between, or another
 * machine, does not tear a group apart. It is computed from the stored columns and never stored.
 *
 * @module
 */

import { nodeCrypto } from "./builtin.ts";
import type { StoredError } from "./records.ts";

/** An error, reduced to what it has in common with others of the same reason. */
export interface Fingerprint {
  /** Twelve hexadecimal digits that stand for all the rest. */
  readonly id: string;
  /** The error's class. */
  readonly errorClass: string;
  /** The message, with a mark in the place of everything that differs from case to case. */
  readonly message: string;
  /** The first frame of the application, as `function file`; null when the stack names none. */
  readonly frame: string | null;
}

/** More of a message than this does not tell reasons apart. */
const MAX_MESSAGE = 1_000;
const DIGITS = 12;

/** The fingerprint of a stored error. */
export function fingerprintOf(error: StoredError): Fingerprint {
  const message = normalMessage(error.message);
  const frame = ownFrame(error);
  const hash = nodeCrypto().createHash("sha256");
  // A separator that no part can hold: two parts never run into each other.
  hash.update([error.errorClass, message, frame ?? ""].join("\0"));
  const id = hash.digest("hex").slice(0, DIGITS);
  return { id, errorClass: error.errorClass, message, frame };
}

/** What differs from case to case, in the order in which it is replaced. */
const MARKS: readonly (readonly [RegExp, string])[] = [
  // Quoted words; an apostrophe inside a word, as in "can't", opens no quotation.
  [/"(?:\\.|[^"\\])*"|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»/g, "<text>"],
  [/(?<![\p{L}\p{N}])'(?:\\.|[^'\\])*?'(?![\p{L}\p{N}])/gu, "<text>"],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/g, "<#>"],
  // Words with a digit: numbers, hexadecimals, UUIDs, and ids such as cus_9s6XKz or order-7f. One
  // mark for all of them, because the same id may be all digits today and hexadecimal tomorrow.
  [/[+-]?(?=[\p{L}_-]*\p{N})[\p{L}\p{N}][\p{L}\p{N}_-]*/gu, "<#>"],
  // What is left between them are the dots of numbers, versions and addresses.
  [/<#>(?:[.,:]?<#>)+/g, "<#>"],
  [/\s+/g, " "],
];

/** A message without what differs from case to case. */
export function normalMessage(message: string): string {
  let text = message.slice(0, MAX_MESSAGE);
  for (const [pattern, mark] of MARKS) text = text.replace(pattern, mark);
  return text.trim();
}

/** `at f (file:1:2)`, `at async f (file:1:2)`, `at file:1:2`, and `f@file:1:2` of other runtimes. */
const FRAME =
  /^\s*at (?:async )?(?:(.+?) \()?(.+?):\d+(?::\d+)?\)?$|^([^\s@]*)@([a-z]*:?\/.+?):\d+:\d+$/;

/** The first frame that is neither the runtime's, nor a dependency's, nor Pawl's. */
function ownFrame({ message, stack }: StoredError): string | null {
  if (stack === null) return null;
  // A message may hold lines that look like frames.
  const said = message === "" ? -1 : stack.indexOf(message);
  const trace = said < 0 ? stack : stack.slice(said + message.length);
  for (const line of trace.split("\n")) {
    const frame = frameIn(line);
    if (frame !== null && !isForeign(frame.file)) return `${frame.name} ${tail(frame.file)}`.trim();
  }
  return null;
}

/** Whether a line of a stack is a frame of the application. */
export function isOwnFrame(line: string): boolean {
  const frame = frameIn(line);
  return frame !== null && !isForeign(frame.file);
}

function frameIn(line: string): { name: string; file: string } | null {
  const parts = FRAME.exec(line);
  const file = parts?.[2] ?? parts?.[4];
  return parts === null || file === undefined ? null : { name: parts[1] ?? parts[3] ?? "", file };
}

/** Where this very copy of Pawl was loaded from. */
const HOME = new URL("../../", import.meta.url).href;
const HOME_PATH = decodeURIComponent(new URL(HOME).pathname);
/** The rooms of Pawl: what else lies in its folder, such as examples, is somebody's application. */
const ROOMS = ["src/", "drivers/", "mod.ts"];

function isForeign(file: string): boolean {
  if (/(^|\/)node_modules\/|^(node|ext|deno|internal|bun|native):|^<anonymous>/.test(file)) {
    return true;
  }
  if (/^https:\/\/(jsr\.io|deno\.land|esm\.sh|cdn\.|unpkg\.com)/.test(file)) return true;
  if (/@pawl[/+]pawl[@/]/.test(file)) return true;
  const inside = file.startsWith(HOME)
    ? file.slice(HOME.length)
    : file.startsWith(HOME_PATH)
    ? file.slice(HOME_PATH.length)
    : null;
  return inside !== null && ROOMS.some((room) => inside.startsWith(room));
}

/** The file and the folder it is in: what lies above depends on where the application was put. */
function tail(file: string): string {
  const path = file.replace(/[?#].*$/, "").replaceAll("\\", "/");
  return path.split("/").slice(-2).join("/");
}
