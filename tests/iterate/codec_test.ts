import assert from "node:assert/strict";
import fc from "fast-check";
import { CursorError, CursorTooLargeError } from "../../src/errors.ts";
import { type Codec, encodeCursor, jsonCodec, MAX_DEPTH } from "../../src/state/codec.ts";

function roundTrip(value: unknown): unknown {
  return jsonCodec.decode(jsonCodec.encode(value));
}

/** What Postgres' jsonb refuses in a text. */
const REFUSED_BY_JSONB = /\\u0000|\\ud[89a-f]|\0/i;

Deno.test("RES-56 plain JSON stays plain JSON", () => {
  for (const value of [1, -1.5, "a", true, false, null, [1, [2]], { a: { b: [null, "é😀"] } }]) {
    assert.equal(jsonCodec.encode(value), JSON.stringify(value));
    assert.deepEqual(roundTrip(value), value);
  }
});

Deno.test("RES-56 dates, bigints, bytes, maps, sets and -0 come back equal and of the same type", () => {
  const value = {
    date: new Date("2026-01-02T03:04:05.678Z"),
    early: new Date(-8.64e15),
    big: 12345678901234567890n,
    bytes: new Uint8Array([0, 127, 255]),
    map: new Map<unknown, unknown>([["a", 1], [{ deep: 1n }, new Set([1])]]),
    set: new Set([new Date(0), "x"]),
    zero: -0,
    list: [[], {}, [[1n]]],
  };
  assert.deepStrictEqual(roundTrip(value), value);
  assert.ok(Object.is(roundTrip(-0), -0));
  assert.equal(jsonCodec.encode(new Date(0)), '{"$pawl":"date","v":"1970-01-01T00:00:00.000Z"}');
});

Deno.test("RES-56 a large byte array comes back", () => {
  const bytes = crypto.getRandomValues(new Uint8Array(50_000));
  assert.deepStrictEqual(roundTrip(bytes), bytes);
});

Deno.test("RES-56 Temporal values come back with all their fields", () => {
  const values = [
    Temporal.Instant.from("2026-01-02T03:04:05.123456789Z"),
    Temporal.ZonedDateTime.from("2026-01-02T03:04:05.000000001+01:00[Europe/Paris]"),
    Temporal.ZonedDateTime.from("1890-01-02T03:04:05[Europe/Paris]"),
    Temporal.PlainDate.from("2026-01-02[u-ca=hebrew]"),
    Temporal.PlainTime.from("03:04:05.000001"),
    Temporal.PlainDateTime.from("2026-01-02T03:04:05"),
    Temporal.PlainYearMonth.from("2026-01"),
    Temporal.PlainMonthDay.from("02-29"),
    Temporal.Duration.from("P1Y2DT3H"),
    Temporal.Duration.from({ milliseconds: 90_000, nanoseconds: 1 }),
    new Temporal.Duration(),
  ];
  for (const value of values) {
    const back = roundTrip(value) as typeof value;
    assert.equal(Object.prototype.toString.call(back), Object.prototype.toString.call(value));
    assert.equal(String(back), String(value));
    if (value instanceof Temporal.Duration) {
      assert.equal((back as Temporal.Duration).milliseconds, value.milliseconds);
    }
  }
});

Deno.test("a user's object that carries the tag's key comes back as it was", () => {
  const value = { $pawl: "date", v: "now", inner: { $pawl: 1 } };
  assert.deepStrictEqual(roundTrip(value), value);
  assert.deepStrictEqual(roundTrip({ $pawl: undefined === null }), { $pawl: false });
});

Deno.test("an own __proto__ key survives and pollutes nothing", () => {
  const value = JSON.parse('{"__proto__":{"admin":true},"a":{"__proto__":1}}');
  const back = roundTrip(value) as Record<string, unknown>;
  assert.deepStrictEqual(Object.keys(back), ["__proto__", "a"]);
  assert.equal(Object.getPrototypeOf(back), Object.prototype);
  assert.equal(({} as Record<string, unknown>).admin, undefined);
  const both = JSON.parse('{"__proto__":{"admin":true},"$pawl":1}');
  assert.deepStrictEqual(Object.keys(roundTrip(both) as object), ["__proto__", "$pawl"]);
});

Deno.test("NUL and lone surrogates survive in text that jsonb accepts", () => {
  const value = { "k\0": "a\0b", "\ud800": ["\udc00", "😀", "\\u0000"], plain: "ü" };
  const text = jsonCodec.encode(value);
  assert.doesNotMatch(text.replaceAll("\\\\", ""), REFUSED_BY_JSONB);
  assert.deepStrictEqual(jsonCodec.decode(text), value);
});

Deno.test("U20 what could not come back is refused with its path", () => {
  class Money {}
  const cyclic: { self: unknown[] } = { self: [] };
  cyclic.self.push(cyclic);
  // deno-lint-ignore no-sparse-arrays -- a hole is what is tested
  const holes = [1, , 3];
  const cases: [unknown, string][] = [
    [undefined, "$"],
    [{ a: undefined }, "$.a"],
    [{ items: [1, 2, 3, () => {}] }, "$.items[3]"],
    [[Symbol("s")], "$[0]"],
    [{ "a b": NaN }, '$["a b"]'],
    [[Infinity], "$[0]"],
    [-Infinity, "$"],
    [{ m: new Money() }, "$.m"],
    [new Map([["k", new Money()]]), "$[0][1]"],
    [cyclic, "$.self[0]"],
    [holes, "$[1]"],
    [[new Date(NaN)], "$[0]"],
    [Object.assign([1], { extra: 1 }), "$"],
    [{ [Symbol("k")]: 1 }, "$"],
    [new (class extends Map {})(), "$"],
    [/x/, "$"],
    [new Error("no"), "$"],
    [new Float64Array(1), "$"],
    [Promise.resolve(), "$"],
    [{ "k\0": [undefined] }, '$["k\\u0000"][0]'],
  ];
  for (const [value, path] of cases) {
    assert.throws(() => jsonCodec.encode(value), (error: unknown) => {
      assert.ok(error instanceof CursorError);
      assert.equal(error.path, path);
      return true;
    });
  }
});

Deno.test("one object in two places is no cycle", () => {
  const shared = { a: 1 };
  assert.deepStrictEqual(roundTrip([shared, { shared }]), [{ a: 1 }, { shared: { a: 1 } }]);
});

Deno.test("deep nesting is an error, not an overflow of the stack", () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 1;
    for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { v: value };
    return value;
  };
  assert.deepStrictEqual(roundTrip(nested(MAX_DEPTH)), nested(MAX_DEPTH));
  assert.throws(() => jsonCodec.encode(nested(MAX_DEPTH + 1)), CursorError);
  assert.throws(() => jsonCodec.encode(nested(100_000)), /deeper than 99 levels/);
  const text = "[".repeat(100_000) + "]".repeat(100_000);
  assert.throws(() => jsonCodec.decode(text), CursorError);
  const tags = '{"$pawl":"set","v":['.repeat(5000) + "]}".repeat(5000);
  assert.throws(() => jsonCodec.decode(tags), CursorError);
});

Deno.test("a tag counts as levels too, so that no database refuses the text", () => {
  let value: unknown = new Map([[1n, new Set([1n])]]);
  let written = 0;
  for (let i = 0; i < 60; i++) {
    value = new Map([["k", value]]);
    try {
      assert.ok(depthOf(jsonCodec.encode(value)) <= MAX_DEPTH);
      written++;
    } catch (error) {
      assert.ok(error instanceof CursorError);
    }
  }
  assert.ok(written > 20);
});

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const char of text.replace(/"(?:[^"\\]|\\.)*"/g, "")) {
    if (char === "[" || char === "{") deepest = Math.max(deepest, ++depth);
    if (char === "]" || char === "}") depth--;
  }
  return deepest;
}

Deno.test("what cannot be read is a CursorError that says where", () => {
  for (
    const text of [
      "{",
      "",
      '{"$pawl":"wat","v":1}',
      '{"$pawl":"Temporal.Wat","v":1}',
      '{"$pawl":"Temporal.Instant","v":"x"}',
      '[{"$pawl":"date","v":"x"}]',
      '{"$pawl":"bigint","v":"1.5"}',
      '{"$pawl":"map","v":1}',
      '{"$pawl":"bytes","v":"*"}',
      '{"$pawl":"string","v":"no json"}',
      '{"$pawl":null}',
    ]
  ) {
    assert.throws(() => jsonCodec.decode(text), CursorError, text);
  }
  assert.throws(
    () => jsonCodec.decode('{"a":[{"$pawl":"date","v":"x"}]}'),
    (error: unknown) => error instanceof CursorError && error.path === "$.a[0]",
  );
});

Deno.test("RES-58 a cursor above the limit is refused, in bytes of UTF-8", () => {
  assert.equal(encodeCursor(jsonCodec, null), null);
  assert.equal(encodeCursor(jsonCodec, "ää", 6), '"ää"');
  assert.throws(() => encodeCursor(jsonCodec, "ää", 5), (error: unknown) => {
    assert.ok(error instanceof CursorTooLargeError);
    assert.deepEqual([error.bytes, error.maxBytes], [6, 5]);
    return true;
  });
  const large = "x".repeat(131_070);
  assert.equal(encodeCursor(jsonCodec, large)?.length, 131_072);
  assert.throws(() => encodeCursor(jsonCodec, `${large}y`), CursorTooLargeError);
  assert.equal(encodeCursor(jsonCodec, `${large}y`, null)?.length, 131_073);
});

Deno.test("RES-57 what another codec throws becomes a CursorError", () => {
  const failing: Codec = {
    encode: () => {
      throw new TypeError("no");
    },
    decode: () => null,
  };
  assert.throws(() => encodeCursor(failing, 1), CursorError);
  const rude: Codec = {
    encode: () => {
      throw { toString: 7 };
    },
    decode: () => null,
  };
  assert.throws(() => encodeCursor(rude, 1), CursorError);
  const silent = { encode: () => undefined, decode: () => null } as unknown as Codec;
  assert.throws(() => encodeCursor(silent, 1), CursorError);
});

Deno.test("RES-57 what the codec refuses with a CursorError is thrown as it is, with its path", () => {
  assert.throws(
    () => encodeCursor(jsonCodec, { page: [undefined] }),
    (error: unknown) => error instanceof CursorError && error.path === "$.page[0]",
  );
});

Deno.test("U20 a path that would fill the message is cut", () => {
  assert.throws(
    () => jsonCodec.encode({ ["k".repeat(1_000)]: undefined }),
    (error: unknown) => error instanceof CursorError && error.path?.length === 501,
  );
});

Deno.test("RES-56 whatever is written comes back equal, as valid JSON that jsonb accepts", () => {
  const key = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("$pawl", "__proto__", "v"));
  const leaf = fc.oneof(
    ...[fc.string({ unit: "binary" }), fc.bigInt(), fc.date({ noInvalidDate: true })],
    ...[fc.boolean(), fc.constant(null), fc.integer(), fc.uint8Array()],
    fc.string().map((text) => `${text}\ud800\0`),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, leaf, tie("array"), tie("object"), tie("map"), tie("set")),
    array: fc.array(tie("value"), { maxLength: 4 }),
    object: fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map(Object.fromEntries),
    map: fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 3 }).map((e) => new Map(e)),
    set: fc.array(tie("value"), { maxLength: 3 }).map((e) => new Set(e)),
  }));
  fc.assert(
    fc.property(value, (original) => {
      const text = jsonCodec.encode(original);
      JSON.parse(text);
      assert.doesNotMatch(text.replaceAll("\\\\", ""), REFUSED_BY_JSONB);
      assert.deepStrictEqual(jsonCodec.decode(text), original);
    }),
    { numRuns: 1000 },
  );
});
