/**
 * Keeping secrets out of sight: the values of fields with certain names are masked wherever a value
 * or a text is shown or handed on, in log lines, in events, in reports and on pages.
 *
 * Masking never fails and never changes what it was given: it answers a copy where something has to
 * be hidden, and the very same object where nothing has.
 *
 * @module
 */

/** Names that are always masked: nobody ever wants to read these. */
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

/** Deeper than this a value is not looked into, and so it is masked as a whole. */
const MAX_DEPTH = 12;

/** Masks values. */
export interface Redactor {
  /** The names it was made for: whoever shows more adds its own to them. */
  readonly names: readonly string[];
  /** Whether the value of a field of this name is masked. */
  hides(name: string): boolean;
  /** A text with the values after such names masked, as in `password=…` or `"token": "…"`. */
  text(text: string): string;
  /** A value with the values of such fields masked, however deep they sit. */
  value(value: unknown): unknown;
}

/** Makes a redactor for names, which are compared without case, hyphens and underscores. */
export function createRedactor(names: readonly string[]): Redactor {
  const all = [...new Set([...ALWAYS_REDACTED, ...names])].filter((name) => plain(name) !== "");
  const hidden = new Set(all.map(plain));
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}])(${all.map(loose).join("|")})(["']?\\s*[:=]\\s*)` +
      `("(?:\\\\.|[^"\\\\])*"|'(?:\\\\.|[^'\\\\])*'|(?:bearer |basic )?[^\\s,;&)}\\]"']+)`,
    "giu",
  );
  const redactor: Redactor = {
    names,
    hides: (name) => hidden.has(plain(name)),
    text: (text) => text.replace(pattern, (_, name, between) => `${name}${between}${MASK}`),
    value: (value) => masked(value, redactor, []),
  };
  return redactor;
}

function plain(name: string): string {
  return name.replace(/[-_\s]/g, "").toLowerCase();
}

/** `apiKey` also as `api_key`, `API-KEY` and `apikey`. */
function loose(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").split(/[-_\s]+/).filter(Boolean);
  return words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[-_ ]?");
}

function masked(value: unknown, redactor: Redactor, parents: readonly object[]): unknown {
  if (typeof value === "string") return redactor.text(value);
  if (typeof value !== "object" || value === null) return value;
  if (parents.length >= MAX_DEPTH || parents.includes(value)) return MASK;
  try {
    return maskedObject(value, redactor, [...parents, value]);
  } catch {
    // A getter or a proxy that throws: what cannot be looked at is not shown either.
    return MASK;
  }
}

function maskedObject(value: object, redactor: Redactor, parents: readonly object[]): unknown {
  const inner = (one: unknown): unknown => masked(one, redactor, parents);
  const member = (name: unknown, one: unknown): unknown =>
    typeof name === "string" && redactor.hides(name) && one !== null && one !== undefined
      ? MASK
      : inner(one);
  if (value instanceof Error) return maskedError(value, redactor, parents);
  if (Array.isArray(value)) return unlessSame(value, value.map(inner));
  if (value instanceof Map) {
    const entries = [...value].map(([key, one]) => [key, member(key, one)] as const);
    return entries.every(([key, one]) => value.get(key) === one) ? value : new Map(entries);
  }
  if (value instanceof Set) {
    const members = [...value].map(inner);
    return members.every((one) => value.has(one)) ? value : new Set(members);
  }
  // What has no fields to read, such as a date or bytes, keeps its type.
  const keys = Object.keys(value);
  if (keys.length === 0 || ArrayBuffer.isView(value)) return value;
  const entries = keys.map((key) => {
    return [key, member(key, (value as Record<string, unknown>)[key])] as const;
  });
  const same = entries.every(([key, one]) => (value as Record<string, unknown>)[key] === one);
  // fromEntries defines, it does not assign: `__proto__` is a key like any other.
  return same ? value : Object.fromEntries(entries);
}

function unlessSame(values: readonly unknown[], copy: readonly unknown[]): readonly unknown[] {
  return copy.every((one, at) => one === values[at]) ? values : copy;
}

/** An error of the same class, with its texts, its cause and its own fields masked. */
function maskedError(error: Error, redactor: Redactor, parents: readonly object[]): Error {
  const own = Object.getOwnPropertyNames(error);
  const fields = new Map<string, unknown>();
  for (const name of new Set([...own, "message", "stack"])) {
    const before = (error as unknown as Record<string, unknown>)[name];
    const after = redactor.hides(name) ? MASK : masked(before, redactor, parents);
    if (after !== before) fields.set(name, after);
  }
  if (fields.size === 0) return error;
  const copy = Object.create(
    Object.getPrototypeOf(error),
    Object.getOwnPropertyDescriptors(error),
  ) as Error;
  for (const [name, value] of fields) {
    const enumerable = Object.prototype.propertyIsEnumerable.call(error, name);
    Object.defineProperty(copy, name, { value, enumerable, writable: true, configurable: true });
  }
  return copy;
}
