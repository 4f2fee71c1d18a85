/**
 * The rows of CSV as objects keyed by the header, streamed; the cursor is the next row's index, or
 * the next batch's.
 *
 * @module
 */

import type { CsvOptions, CsvSource } from "../define/context.ts";
import { InvalidInputError } from "../errors.ts";
import { indexFrom, isAsyncIterable, kindOf } from "./array.ts";
import { broken, type CsvParser, csvParser, type CsvRow } from "./csv_parser.ts";
import type { Pair, Pairs } from "./drive.ts";
import { positiveInteger } from "./options.ts";
import { pagedPairs } from "./pages.ts";

/** A row, keyed by the header. */
export type CsvRecord = Record<string, string>;

type Chunks = AsyncIterable<Uint8Array | string>;

/** Makes pairs of a row, or of a batch of them, and the index that follows. */
export async function openCsv(
  source: CsvSource,
  options: CsvOptions,
  cursor: unknown,
): Promise<Pairs<CsvRecord | readonly CsvRecord[]>> {
  const separator = options.separator ?? ",";
  if (typeof separator !== "string" || separator.length !== 1 || /["\r\n]/.test(separator)) {
    throw new InvalidInputError("Cannot iterate: the separator must be one character");
  }
  const from = indexFrom(cursor, "overCsv");
  const pages = readRecords(await chunksOf(source), csvParser(separator), options.columns);
  const close = (): unknown => pages.return();
  const { batchSize } = options;
  if (batchSize === undefined) return pagedPairs(indexed(pages, from), close);
  return pagedPairs(batched(pages, positiveInteger(batchSize, "batchSize"), from), close);
}

type Pages = AsyncGenerator<readonly CsvRecord[], void, undefined>;

/** Rows with the index that follows each, from the cursor's on. */
function indexed(pages: Pages, from: number): () => Promise<readonly Pair<CsvRecord>[] | null> {
  let index = 0;
  return async () => {
    const { done, value: page } = await pages.next();
    if (done) return null;
    return page.map((record): Pair<CsvRecord> => [record, ++index])
      .filter(([, next]) => (next as number) > from);
  };
}

/** Batches with the index that follows each, from the cursor's on. */
function batched(
  pages: Pages,
  size: number,
  from: number,
): () => Promise<readonly Pair<readonly CsvRecord[]>[] | null> {
  let index = 0;
  let waiting: CsvRecord[] = [];
  let ended = false;

  function cut(count: number): readonly Pair<readonly CsvRecord[]>[] {
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return ++index > from ? [[batch, index]] : [];
  }

  return async () => {
    while (waiting.length < size && !ended) {
      const { done, value: page } = await pages.next();
      if (done) ended = true;
      else waiting = waiting.concat(page);
    }
    return waiting.length === 0 ? null : cut(size);
  };
}

/** Reads pieces of text into pages of records. */
async function* readRecords(
  chunks: Chunks,
  parser: CsvParser,
  columns: readonly string[] | undefined,
): Pages {
  const header: { names: readonly string[] | null } = { names: checkedNames(columns) };
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let atStart = true;
  for await (const chunk of chunks) {
    const text = typeof chunk === "string" ? chunk : decoded(decoder, chunk);
    if (text === "") continue;
    yield recordsOf(parser.feed(atStart ? text.replace(/^\uFEFF/, "") : text), header);
    atStart = false;
  }
  // A character that was cut in two at the very end.
  yield recordsOf([...parser.feed(decoded(decoder)), ...parser.end()], header);
}

function decoded(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch (cause) {
    throw new InvalidInputError(
      "Cannot read CSV: it is not UTF-8; give a stream of text that was decoded otherwise",
      { cause },
    );
  }
}

function recordsOf(
  rows: readonly CsvRow[],
  header: { names: readonly string[] | null },
): readonly CsvRecord[] {
  const records: CsvRecord[] = [];
  for (const { fields, line } of rows) {
    if (header.names === null) {
      header.names = checkedNames(fields, line);
      continue;
    }
    const { names } = header as { names: readonly string[] };
    // An empty line is no row, unless a row is a single field, which may be empty.
    if (fields.length === 1 && fields[0] === "" && names.length > 1) continue;
    if (fields.length !== names.length) {
      throw broken(line, `${fields.length} fields instead of ${names.length}`);
    }
    // fromEntries defines, it does not assign: a column named `__proto__` is one like any other.
    records.push(Object.fromEntries(names.map((name, i) => [name, fields[i] as string])));
  }
  return records;
}

function checkedNames(
  names: readonly string[] | undefined,
  line?: number,
): readonly string[] | null {
  if (names === undefined) return null;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return names;
  throw broken(line ?? 1, `two columns are named ${JSON.stringify(twice)}`);
}

/** Text has a line break in it (or nothing at all); any other string is a path. */
async function chunksOf(source: CsvSource): Promise<Chunks> {
  const made: unknown = typeof source === "function" ? await source() : source;
  if (typeof made === "string") return /^$|[\r\n]/.test(made) ? textChunks(made) : fileChunks(made);
  if (made instanceof URL) return fileChunks(made);
  if (isAsyncIterable<Uint8Array | string>(made)) return made;
  throw new InvalidInputError(
    `Cannot read CSV from ${kindOf(made)}: give text, a path, a file: URL, or a stream`,
  );
}

async function* textChunks(text: string): AsyncGenerator<string, void, undefined> {
  // In pieces, so that the rows of a large text do not all exist at once.
  for (let from = 0; from < text.length; from += 65_536) yield text.slice(from, from + 65_536);
}

async function* fileChunks(file: string | URL): AsyncGenerator<Uint8Array, void, undefined> {
  const { createReadStream } = await import("node:fs");
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "ENOENT") throw cause;
    throw new InvalidInputError(
      `Cannot read CSV: there is no file ${JSON.stringify(String(file))}; ` +
        `text is taken for text when it has a line break`,
      { cause },
    );
  }
}
