/** CSV under a real engine: from text, files and streams, by rows and by batches. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type CsvOptions,
  type CsvSource,
  CursorError,
  InvalidInputError,
  type Iter,
} from "../../mod.ts";
import {
  assertCursor,
  interruptEvery,
  performNextStep,
  runIterations,
  speedrunWorkflow,
} from "../../src/testing/mod.ts";
import { behaviour, type World } from "../_engines.ts";
import { executionAt } from "../run/_story.ts";
import { importing, range } from "./_chain.ts";

const HEADER = "name,town";
const TEXT =
  `${HEADER}\r\nAda,London\n"Grace ""Amazing"" Hopper","New York, NY"\nLin,"two\nlines"\n`;
const ROWS = [
  { name: "Ada", town: "London" },
  { name: 'Grace "Amazing" Hopper', town: "New York, NY" },
  { name: "Lin", town: "two\nlines" },
];

/** Starts a walk over CSV that writes down what it is given. */
async function start(world: World, walk: (iter: Iter, seen: unknown[]) => Promise<void>) {
  const seen: unknown[] = [];
  const definition = importing(({ iter }) => walk(iter, seen));
  const { engine } = await world.engine({ workflows: [definition] });
  return { run: await engine.start(definition), seen };
}

behaviour(
  "JIT-18 rows come with their index, the header is none of them, and a resume goes on behind the cursor",
  async (world) => {
    const { run, seen } = await start(
      world,
      (iter, seen) => iter.overCsv(TEXT, (row, index) => void seen.push([row, index])),
    );
    await runIterations(run, { count: 2 });
    await assertCursor(run, 2);
    assert.equal(seen.length, 2);
    await speedrunWorkflow(run);
    assert.deepEqual(seen, ROWS.map((row, index) => [row, index]));
    assert.equal((await executionAt(run, 0)).cursor, 2);
  },
);

behaviour(
  "JIT-19 batches come with their index, the last may be short, and a resume goes by that index",
  async (world) => {
    const text = `n\n${range(8).join("\n")}\n`;
    const { run, seen } = await start(
      world,
      (iter, seen) =>
        iter.overCsv(text, (rows, index) => void seen.push([index, ...rows.map(({ n }) => n)]), {
          batchSize: 3,
        }),
    );
    await runIterations(run, { count: 1 });
    await assertCursor(run, 1);
    await interruptEvery(run, 1);
    assert.deepEqual(seen, [[0, "0", "1", "2"], [1, "3", "4", "5"], [2, "6", "7"]]);
  },
);

/** A stream of bytes in pieces of a size, so that characters and line ends are cut anywhere. */
function bytesOf(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return ReadableStream.from(
    range(Math.ceil(bytes.length / size)).map((at) => bytes.slice(at * size, (at + 1) * size)),
  );
}

behaviour(
  "JIT-18 text, a path, a file: URL and streams of any pieces all give the same rows, interrupted or not",
  async (world) => {
    const text = TEXT.replace("Lin", "Lïn 😀");
    const folder = mkdtempSync(join(tmpdir(), "pawl-csv-"));
    try {
      const path = join(folder, "people.csv");
      writeFileSync(path, text);
      const sources: Record<string, () => CsvSource> = {
        text: () => text,
        path: () => path,
        url: () => pathToFileURL(path),
        bytes: () => () => bytesOf(text, 3),
        "one by one": () => () => bytesOf(text, 1),
        "a promise of a stream": () => () => Promise.resolve(bytesOf(text, 7)),
        "text stream": () => () => ReadableStream.from([text.slice(0, 9), text.slice(9)]),
      };
      for (const [what, source] of Object.entries(sources)) {
        const { run, seen } = await start(
          world,
          (iter, seen) => iter.overCsv(source(), (row) => void seen.push(row)),
        );
        await interruptEvery(run, 1);
        assert.deepEqual(seen, [ROWS[0], ROWS[1], { ...ROWS[2], name: "Lïn 😀" }], what);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

behaviour(
  "JIT-05 JIT-18 an interruption closes the stream and the file it read from",
  async (world) => {
    const closed: string[] = [];
    const { run, seen } = await start(world, (iter, seen) =>
      iter.overCsv(() => {
        const lines = [`${HEADER}\n`, ...range(50).map((n) => `p${n},t${n}\n`)];
        return new ReadableStream<string>({
          pull(controller) {
            const line = lines.shift();
            if (line === undefined) controller.close();
            else controller.enqueue(line);
          },
          cancel: () => void closed.push("canceled"),
        });
      }, (row) => void seen.push(row.name)));
    await runIterations(run, { count: 2 });
    assert.deepEqual([seen, closed], [["p0", "p1"], ["canceled"]]);
  },
);

behaviour("other separators, given columns and a byte order mark", async (world) => {
  const cases: [string, CsvOptions & { batchSize?: never }, unknown[]][] = [
    ["\uFEFFa;b\n1;2\n", { separator: ";" }, [{ a: "1", b: "2" }]],
    ["1\t2\n3\t4", { separator: "\t", columns: ["x", "y"] }, [{ x: "1", y: "2" }, {
      x: "3",
      y: "4",
    }]],
    ["a\n\n1\n", {}, [{ a: "" }, { a: "1" }]],
    ["a,b\n\n1,2\n", {}, [{ a: "1", b: "2" }]],
  ];
  for (const [text, options, expected] of cases) {
    const { run, seen } = await start(
      world,
      (iter, seen) => iter.overCsv(text, (row) => void seen.push(row), options),
    );
    await performNextStep(run);
    assert.deepEqual(seen, expected);
  }
});

behaviour(
  "JIT-20 anything but CSV is an error, and broken CSV names its line once the rows before it are done",
  async (world) => {
    const never = (): never => assert.fail("no row must be passed");
    const bad: [unknown, CsvOptions, RegExp][] = [
      [42, {}, /from a number: give text, a path, a file: URL, or a stream/],
      [{ rows: [] }, {}, /from an object/],
      ["/no/such/file.csv", {}, /there is no file "\/no\/such\/file\.csv"/],
      [TEXT, { separator: ";;" }, /the separator must be one character/],
      ["a,a\n1,2\n", {}, /two columns are named "a", on line 1/],
    ];
    for (const [source, options, message] of bad) {
      const { run } = await start(
        world,
        (iter) => iter.overCsv(source as string, never, options as { batchSize?: never }),
      );
      await assert.rejects(performNextStep(run), (error) => {
        assert.ok(error instanceof InvalidInputError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
    const { run, seen } = await start(world, (iter, seen) =>
      iter.overCsv(
        () => ReadableStream.from([`${HEADER}\nAda,London\n`, "Bob,Rome\n", 'Eve,"Oslo']),
        (row) => void seen.push(row.name),
      ));
    await assert.rejects(performNextStep(run), /a quoted field is never closed, on line 4/);
    assert.deepEqual([seen, (await executionAt(run, 0)).cursor], [["Ada", "Bob"], 2]);
  },
);

behaviour("RES-47 a cursor that is no index is refused", async (world) => {
  const { run } = await start(world, async (iter) => {
    await iter.set("row three");
    await iter.overCsv(TEXT, () => assert.fail("no row must be passed"));
  });
  await assert.rejects(performNextStep(run), CursorError);
});
