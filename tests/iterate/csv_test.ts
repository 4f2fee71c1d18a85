// deno-lint-ignore-file explicit-function-return-type -- typed by what they are passed to
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import type { CsvOptions, CsvSource } from "../../src/define/context.ts";
import { InvalidInputError } from "../../src/errors.ts";
import { csvParser } from "../../src/iterate/csv_parser.ts";
import { execute, newChain, runChain, storedCursors } from "./_harness.ts";

async function rowsOf(source: CsvSource, options: CsvOptions = {}): Promise<unknown[]> {
  const rows: unknown[] = [];
  await runChain(({ iter }) =>
    iter.overCsv(source, (row) => void rows.push(row), options as { batchSize?: never })
  );
  return rows;
}

function byteStream(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at += size));
    },
  });
}

Deno.test("JIT-18 rows come with their index; the header is no row; the cursor is the next index", async () => {
  const done: unknown[] = [];
  const text = "name,age\nann,1\nbob,2\ncid,3\n";
  const chain = await runChain(
    ({ iter }) => iter.overCsv(text, (row, index) => void done.push([row, index])),
    { maxIterations: 2 },
  );
  assert.deepEqual(done, [
    [{ name: "ann", age: "1" }, 0],
    [{ name: "bob", age: "2" }, 1],
    [{ name: "cid", age: "3" }, 2],
  ]);
  assert.deepEqual([storedCursors(chain), chain.executions], [["1", "2", "3"], 2]);
});

Deno.test("JIT-19 batches of rows come with their index and are resumed by it", async () => {
  const done: unknown[] = [];
  const text = "n\r\n1\r\n2\r\n3\r\n4\r\n5";
  const chain = await runChain(
    ({ iter }) =>
      iter.overCsv(text, (rows, index) => void done.push([rows.map(({ n }) => n), index]), {
        batchSize: 2,
      }),
    { maxIterations: 1 },
  );
  assert.deepEqual(done, [[["1", "2"], 0], [["3", "4"], 1], [["5"], 2]]);
  assert.equal(chain.cursor, "3");
});

Deno.test("RFC 4180: quotes, doubled quotes, separators and line breaks in fields, CRLF, BOM", async () => {
  const text = '\uFEFFa,"b ""x""",c\r\n"1,2","line\r\nbreak\nend","q""q"\r\n,"",\r\n';
  assert.deepEqual(await rowsOf(text), [
    { a: "1,2", 'b "x"': "line\r\nbreak\nend", c: 'q"q' },
    { a: "", 'b "x"': "", c: "" },
  ]);
});

Deno.test("every source gives the same rows, whatever the size of its pieces", async () => {
  const text = '\uFEFFname,text\r\nä😀,"x\r\n""y"""\r\nb,\r\n';
  const expected = [{ name: "ä😀", text: 'x\r\n"y"' }, { name: "b", text: "" }];
  for (const size of [1, 2, 3, 5, 1000]) {
    assert.deepEqual(await rowsOf(byteStream(text, size)), expected);
    assert.deepEqual(await rowsOf(() => byteStream(text, size)), expected);
    const decoded = byteStream(text, size).pipeThrough(
      new TextDecoderStream("utf-8", { ignoreBOM: true }) as unknown as TransformStream<
        Uint8Array,
        string
      >,
    );
    assert.deepEqual(await rowsOf(decoded), expected);
  }
  const folder = await mkdtemp(join(tmpdir(), "csv-"));
  try {
    const path = join(folder, "rows.csv");
    await writeFile(path, text);
    assert.deepEqual(await rowsOf(path), expected);
    assert.deepEqual(await rowsOf(pathToFileURL(path)), expected);
    // An interruption closes the file: the test runner would report it otherwise.
    await execute(newChain(), ({ iter }) => iter.overCsv(path, () => {}), { maxIterations: 1 });
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("other separators, given columns, empty lines and odd column names", async () => {
  assert.deepEqual(await rowsOf("a;b\n1;2,3\n", { separator: ";" }), [{ a: "1", b: "2,3" }]);
  assert.deepEqual(await rowsOf("a]b\n1]2\n", { separator: "]" }), [{ a: "1", b: "2" }]);
  assert.deepEqual(await rowsOf("a\tb\r1\t2\r", { separator: "\t" }), [{ a: "1", b: "2" }]);
  assert.deepEqual(await rowsOf("1,2\n3,4", { columns: ["x", "y"] }), [
    { x: "1", y: "2" },
    { x: "3", y: "4" },
  ]);
  assert.deepEqual(await rowsOf("a,b\n\n1,2\n\n"), [{ a: "1", b: "2" }]);
  assert.deepEqual(await rowsOf("a\n\n1\n"), [{ a: "" }, { a: "1" }]);
  assert.deepEqual(await rowsOf(""), []);
  assert.deepEqual(await rowsOf("a,b\n"), []);
  const [row] = await rowsOf("__proto__,b\n1,2\n") as Record<string, string>[];
  assert.deepEqual(Object.keys(row!), ["__proto__", "b"]);
});

Deno.test("broken CSV is an error that names the line", async () => {
  const cases: [string, RegExp][] = [
    ["a,b\n1,2\n3\n", /1 fields instead of 2, on line 3/],
    ['a,b\n"x\ny",2\n1,2,3\n', /3 fields instead of 2, on line 4/],
    ["a,a\n1,2\n", /two columns are named "a", on line 1/],
    ['a,b\n"1"x,2\n', /text follows a closing quote, on line 2/],
    ['a,b\n1"x,2\n', /a quote stands inside a field .*, on line 2/],
    ['a,b\n1,2\n"x,2\n', /never closed, on line 3/],
    ['a,b\r\n"x\r\ny",2\r\n1\r\n', /1 fields instead of 2, on line 4/],
  ];
  for (const [text, message] of cases) await assert.rejects(rowsOf(text), message);
  const latin = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new Uint8Array([97, 10, 0xe4, 10]));
      controller.close();
    },
  });
  await assert.rejects(rowsOf(latin), /not UTF-8/);
});

Deno.test("JIT-20 anything else is an argument error", async () => {
  for (const source of [null, 5, {}, [], ["a"], () => 5, "no_such_file.csv"]) {
    await assert.rejects(rowsOf(source as never), InvalidInputError, String(source));
  }
  for (const separator of ["", ",,", '"', "\n"]) {
    await assert.rejects(rowsOf("a\n1\n", { separator }), InvalidInputError);
  }
  await assert.rejects(rowsOf("a\n1\n", { batchSize: 0 }), InvalidInputError);
});

Deno.test("the parser gives back what was written, cut into pieces anywhere", () => {
  const field = fc.string({ unit: fc.constantFrom("a", '"', ",", "\r", "\n", " ", "ü") });
  const quoted = (text: string): string =>
    /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  fc.assert(fc.property(
    fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { maxLength: 5 }),
    fc.constantFrom("\r\n", "\n", "\r"),
    fc.integer({ min: 1, max: 4 }),
    (rows, lineBreak, size) => {
      const text = rows.map((row) => row.map(quoted).join(",") + lineBreak).join("");
      const parser = csvParser(",");
      const read: (readonly string[])[] = [];
      for (let at = 0; at < text.length; at += size) {
        for (const { fields } of parser.feed(text.slice(at, at + size))) read.push(fields);
      }
      for (const { fields } of parser.end()) read.push(fields);
      assert.deepEqual(read, rows);
    },
  ));
});
