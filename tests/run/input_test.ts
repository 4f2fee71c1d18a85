/**
 * What a workflow is started with: input that passes a schema, and metadata.
 */

import assert from "node:assert/strict";
import { InvalidInputError, type SchemaResult, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";

const NOON = Date.UTC(2026, 5, 1, 12);

interface Ticket {
  readonly seats: number;
  readonly on: Date;
}

/** A schema as zod, valibot and arktype offer it, by hand: text comes in, a ticket comes out. */
const ticketSchema = {
  "~standard": {
    version: 1,
    vendor: "by-hand",
    async validate(value: unknown): Promise<SchemaResult<Ticket>> {
      const { seats, on } = (value ?? {}) as { seats?: unknown; on?: unknown };
      const issues = [];
      if (!Number.isInteger(Number(seats))) issues.push({ message: "seats?", path: ["seats"] });
      if (Number.isNaN(Date.parse(String(on)))) issues.push({ message: "when?", path: ["on"] });
      await Promise.resolve();
      return issues.length > 0
        ? { issues }
        : { value: { seats: Number(seats), on: new Date(String(on)) } };
    },
    types: undefined as unknown as { input: { seats: string; on: string }; output: Ticket },
  },
} as const;

behaviour(
  "SCH-01 the input passes its schema, is stored, and reaches every step",
  async ({ engine }) => {
    const seen: unknown[] = [];
    const booking = workflow({
      name: "booking",
      input: ticketSchema,
      steps: [
        {
          name: "reserve",
          wait: ({ input }) => input.seats * 1_000,
          run: ({ input }) => void seen.push(input),
        },
        { name: "print", run: ({ input }) => void seen.push(input.on.getTime()) },
      ],
    });
    const t = await engine({ workflows: [booking], now: NOON });
    const on = "2026-07-01T20:00:00.000Z";
    const run = await t.engine.start(booking, { input: { seats: "2", on } });
    assert.deepEqual(run.input, { seats: 2, on: new Date(on) });
    assert.deepEqual((await run.currentExecution())?.scheduledFor, new Date(NOON + 2_000));
    await speedrunWorkflow(run);
    assert.deepEqual(seen, [{ seats: 2, on: new Date(on) }, Date.parse(on)]);
  },
);

behaviour(
  "SCH-01 an input that its schema refuses is a typed error and leaves nothing",
  async ({ engine }) => {
    const booking = workflow({
      name: "booking",
      input: ticketSchema,
      steps: [{ name: "reserve", run: () => {} }],
    });
    const t = await engine({ workflows: [booking] });
    for (const input of [{ seats: "two", on: "never" }, undefined, null]) {
      await assert.rejects(t.engine.start(booking, { input: input as never }), (error) => {
        assert.ok(error instanceof InvalidInputError);
        assert.match(error.message, /"booking" is not valid: seats: seats\?; on: when\?$/);
        assert.deepEqual(error.issues.map((issue) => issue.path), [["seats"], ["on"]]);
        return true;
      });
    }
    assert.deepEqual((await t.engine.list()).items, []);
  },
);

behaviour(
  "SCH-01 input without a schema and metadata come back as they were given",
  async ({ engine }) => {
    const seen: unknown[] = [];
    const import_ = workflow({
      name: "import",
      steps: [{
        name: "read",
        run: ({ input, workflow }) => void seen.push(input, workflow.metadata),
      }],
    });
    const t = await engine({ workflows: [import_] });
    const value = {
      when: new Date(NOON),
      big: 12n,
      text: 'O\'Neil "🐧" \\ \n',
      none: null,
      list: [1.5],
    };
    const run = await t.engine.start(import_, { input: value, metadata: value });
    const found = await t.engine.find(run.id);
    assert.deepEqual(found?.input, value);
    assert.deepEqual(found?.metadata, value);
    await performNextStep(run);
    assert.deepEqual(seen, [value, value]);
    const plain = await t.engine.start(import_);
    assert.deepEqual([plain.input, plain.metadata], [null, {}]);
  },
);

behaviour(
  "SCH-01 input and metadata that cannot be stored are refused and nothing is written",
  async ({ engine }) => {
    const import_ = workflow({ name: "import", steps: [{ name: "read", run: () => {} }] });
    const t = await engine({ workflows: [import_] });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    for (const value of [{ now: () => NOON }, cyclic, { nan: NaN }, { map: new WeakMap() }]) {
      await assert.rejects(t.engine.start(import_, { input: value }), InvalidInputError);
      await assert.rejects(t.engine.start(import_, { metadata: value }), InvalidInputError);
    }
    for (const metadata of ["text", ["list"], 7, null]) {
      await assert.rejects(
        t.engine.start(import_, { metadata: metadata as never }),
        InvalidInputError,
      );
    }
    assert.deepEqual((await t.engine.list()).items, []);
  },
);
