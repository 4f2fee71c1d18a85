/**
 * Values that a database, a log or a parser may stumble over.
 */

import fc from "fast-check";

/** Texts that mean something to somebody: to SQL, to JSON, to a shell, to a prototype. */
export const HOSTILE_TEXTS: readonly string[] = [
  "'; DROP TABLE pawl_workflows; --",
  '"; DROP TABLE pawl_workflows; --',
  "' OR '1'='1",
  "\\'; DELETE FROM pawl_step_executions; --",
  "1; UPDATE pawl_workflows SET state = 'canceled'",
  "`; DROP DATABASE pawl; --",
  "$1",
  "?",
  ":name",
  "%s%d%n",
  "%",
  "_",
  "/* comment",
  "--",
  "#",
  "\\",
  "'",
  '"',
  "$$",
  "{{prefix}}",
  "${process.exit()}",
  "$&$1$`$'",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "NULL",
  "NaN",
  "0x00",
  "1e309",
  "true",
  " leading and trailing ",
  "a\tb\r\nc",
  "\u202Eright to left\u202C",
  "\u{1F600}\u0301é ﬀ İ ß",
  "ＤＲＯＰ　ＴＡＢＬＥ",
];

/** What no database stores as text: NUL and halves of characters. */
export const UNSTORABLE_TEXTS: readonly string[] = ["\0", "a\0b", "\uD800", "x\uDC00y", "\uDFFF"];

/** Any text, hostile ones often. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.constantFrom(...UNSTORABLE_TEXTS),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ maxLength: 40 }),
  fc.tuple(fc.constantFrom(...HOSTILE_TEXTS), fc.string({ maxLength: 8 })).map(([a, b]) => b + a),
);

const key = fc.oneof(
  fc.constantFrom("__proto__", "constructor", "prototype", "$pawl", "v", "k", "toJSON", "length"),
  anyText,
);

const leaf = fc.oneof(
  anyText,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53, 5e-324),
  fc.bigInt(),
  fc.boolean(),
  fc.constant(null),
  fc.date({ noInvalidDate: true }),
  fc.constantFrom(new Date(8.64e15), new Date(-8.64e15), new Date(0)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Uint8Array.from(bytes)),
);

/** Any value that a codec can store, with hostile keys and edges of every type. */
export const storable: fc.Arbitrary<unknown> = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie("node"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("node")), { maxLength: 4 }).map((pairs) =>
      Object.fromEntries(pairs)
    ),
    fc.array(fc.tuple(leaf, tie("node")), { maxLength: 3 }).map((pairs) => new Map(pairs)),
    fc.array(leaf, { maxLength: 3 }).map((members) => new Set(members)),
  ),
})).node;

/** How many runs a property gets: more with PAWL_TEST_RUNS, which multiplies. */
export function runs(few: number): number {
  return Math.ceil(few * Number(Deno.env.get("PAWL_TEST_RUNS") ?? 1));
}

/** Fails when a test has polluted what every object inherits. */
export function assertUnpolluted(): void {
  const inherited = [Object.prototype, Array.prototype, Function.prototype];
  for (const prototype of inherited) {
    const added = Object.keys(prototype);
    if (added.length > 0) throw new Error(`A prototype was polluted: ${added.join(", ")}`);
  }
}
