import assert from "node:assert/strict";
import fc from "fast-check";
import { isSameJson, mergeMetadata, metadataOf } from "../../src/state/metadata.ts";

Deno.test("AUD-13 AUD-14 metadata that is absent, malformed or no object is empty", () => {
  for (const text of [null, "", "{", "nonsense", "null", "7", '"text"', "true", "[1,2]"]) {
    assert.deepEqual(metadataOf(text), {}, String(text));
    assert.equal(metadataOf(text).absent, undefined);
  }
});

Deno.test("AUD-13 writing merges keys without losing others; undefined takes a key away", () => {
  assert.equal(mergeMetadata('{"a":1,"b":2}', { b: 3, c: { d: 4 } }), '{"a":1,"b":3,"c":{"d":4}}');
  assert.equal(mergeMetadata('{"a":1,"b":2}', { b: undefined }), '{"a":1}');
  assert.equal(mergeMetadata('{"a":1}', {}), '{"a":1}');
  assert.equal(mergeMetadata('{"a":1}', { a: null }), '{"a":null}');
});

Deno.test("AUD-14 writing over malformed metadata starts from nothing", () => {
  assert.equal(mergeMetadata("{", { a: 1 }), '{"a":1}');
});

Deno.test("MIG-14 metadata without a key is null, not an empty object", () => {
  assert.equal(mergeMetadata(null, {}), null);
  assert.equal(mergeMetadata(null, { a: undefined }), null);
  assert.equal(mergeMetadata('{"a":1}', { a: undefined }), null);
});

Deno.test("AUD-13 whatever is merged is read back, and what was there before stays", () => {
  const keys = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });
  fc.assert(fc.property(keys, keys, (before, added) => {
    const text = mergeMetadata(mergeMetadata(null, before), added);
    const expected = JSON.parse(JSON.stringify({ ...before, ...added }));
    assert.deepEqual(metadataOf(text), expected);
  }));
});

Deno.test("U18 JSON is the same whatever the spaces and the order of keys, and only then", () => {
  const same: [string | null, string | null][] = [
    [null, null],
    ["7", "7"],
    ['{"a":1,"b":[{"c":2,"d":3}]}', '{"b": [{"d": 3, "c": 2}], "a": 1}'],
    ['{"$pawl":"date","v":"x"}', '{"v": "x", "$pawl": "date"}'],
    ["not json", "not json"],
  ];
  for (const [one, other] of same) assert.equal(isSameJson(one, other), true, `${one} ${other}`);
  const different: [string | null, string | null][] = [
    [null, "null"],
    ["7", "8"],
    ['{"a":1}', '{"a":1,"b":null}'],
    ["[1,2]", "[2,1]"],
    ["not json", "7"],
  ];
  for (const [one, other] of different) {
    assert.equal(isSameJson(one, other), false, `${one} ${other}`);
    assert.equal(isSameJson(other, one), false, `${other} ${one}`);
  }
});
