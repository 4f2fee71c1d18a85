import assert from "node:assert/strict";
import fc from "fast-check";
import { uuid7Generator } from "../../drivers/sql/uuid7.ts";
import { NOW } from "./_sqlite.ts";

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function timeOf(id: string): number {
  return parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

Deno.test("MIG-17 a UUID of version 7 carries the time of the engine's clock", () => {
  const make = uuid7Generator();
  const id = make(NOW);
  assert.match(id, FORM);
  assert.equal(timeOf(id), NOW.getTime());
});

Deno.test("MIG-17 ids of one store grow, however many are made in one millisecond", () => {
  const make = uuid7Generator();
  const ids = Array.from({ length: 10_000 }, () => make(NOW));
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
  // The counter has twelve bits: what does not fit borrows from the milliseconds that follow.
  assert.ok(timeOf(ids.at(-1) as string) - NOW.getTime() <= 3);
});

Deno.test("MIG-17 ids grow and stay well-formed whatever the clock does", () => {
  fc.assert(fc.property(fc.array(fc.date({ noInvalidDate: false })), (dates) => {
    const make = uuid7Generator();
    const ids = dates.map((date) => make(date));
    for (const id of ids) assert.match(id, FORM);
    assert.deepEqual(ids, ids.toSorted());
    assert.equal(new Set(ids).size, ids.length);
  }));
});

Deno.test("MIG-17 the random bits are all used and nothing else is random", () => {
  const ones = uuid7Generator((bytes) => bytes.fill(0xff));
  const zeros = uuid7Generator((bytes) => bytes.fill(0));
  assert.equal(ones(new Date(0)).slice(19), "bfff-ffffffffffff");
  assert.equal(zeros(new Date(0)), "00000000-0000-7000-8000-000000000000");
  assert.equal(zeros(new Date(0)), "00000000-0000-7001-8000-000000000000");
});
