/**
 * A streaming parser of CSV as RFC 4180 has it: fed with text in pieces of any size, it gives the
 * rows that are complete. Line breaks are CRLF, LF or CR; a quoted field may contain them.
 *
 * @module
 */

import { InvalidInputError } from "../errors.ts";

/** A row and the line on which it starts, from 1. */
export interface CsvRow {
  /** The fields, unquoted. */
  readonly fields: readonly string[];
  /** The line, for messages. */
  readonly line: number;
}

/** A parser that is fed piece by piece. */
export interface CsvParser {
  /** Takes more text and gives the rows that it completes. */
  feed(text: string): readonly CsvRow[];
  /** Says that the text is over and gives the last row, if its line was not ended. */
  end(): readonly CsvRow[];
}

/** Where in a field the parser is; `closed` is right behind a quote within quotes. */
type State = "start" | "plain" | "quoted" | "closed";

const BREAK = /[\r\n]/;

/** Makes a parser; the separator is one character. */
export function csvParser(separator: string): CsvParser {
  const special = new RegExp(`["\\r\\n${separator.replace(/[\\\]^-]/, "\\$&")}]`, "g");
  const rows = rowCollector();
  let state: State = "start";
  let line = 1;
  let afterReturn = false;

  /** Takes text between special characters. */
  function plain(text: string): void {
    if (text === "") return;
    if (state === "closed") throw broken(line, "text follows a closing quote");
    if (state === "start") state = "plain";
    rows.append(text);
    afterReturn = false;
  }

  function quote(): void {
    if (state === "plain") throw broken(line, "a quote stands inside a field that is not quoted");
    // Behind a closing quote another one means a quote in the text.
    if (state === "closed") rows.append('"');
    state = state === "quoted" ? "closed" : "quoted";
  }

  function breakLine(char: string): void {
    // The LF of a CRLF, which may come with the next piece, ends no second line.
    const secondHalf = char === "\n" && afterReturn;
    if (!secondHalf) line++;
    if (state === "quoted") return rows.append(char);
    if (!secondHalf) rows.endRow();
    rows.startLine = line;
    state = "start";
  }

  function take(char: string): void {
    if (BREAK.test(char)) breakLine(char);
    else if (char === '"') quote();
    else if (state === "quoted") rows.append(char);
    else {
      rows.endField();
      state = "start";
    }
    afterReturn = char === "\r";
  }

  return {
    feed(text: string): readonly CsvRow[] {
      let from = 0;
      for (const { index } of text.matchAll(special)) {
        plain(text.slice(from, index));
        take(text.charAt(index));
        from = index + 1;
      }
      plain(text.slice(from));
      return rows.completed();
    },
    end(): readonly CsvRow[] {
      if (state === "quoted") throw broken(rows.startLine, "a quoted field is never closed");
      if (state !== "start" || rows.isStarted()) rows.endRow();
      return rows.completed();
    },
  };
}

/** Collects fields into rows. */
interface RowCollector {
  /** The line on which the present row starts. */
  startLine: number;
  append(text: string): void;
  endField(): void;
  endRow(): void;
  isStarted(): boolean;
  completed(): readonly CsvRow[];
}

function rowCollector(): RowCollector {
  let field = "";
  let fields: string[] = [];
  let rows: CsvRow[] = [];
  const collector: RowCollector = {
    startLine: 1,
    append(text: string): void {
      field += text;
    },
    endField(): void {
      fields.push(field);
      field = "";
    },
    endRow(): void {
      collector.endField();
      rows.push({ fields, line: collector.startLine });
      fields = [];
    },
    isStarted: () => fields.length > 0,
    completed(): readonly CsvRow[] {
      const done = rows;
      rows = [];
      return done;
    },
  };
  return collector;
}

/** The error of a line that cannot be read. */
export function broken(line: number, why: string): InvalidInputError {
  return new InvalidInputError(`Cannot read CSV: ${why}, on line ${line}`);
}
