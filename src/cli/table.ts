/**
 * Tables for people: columns as wide as what is in them, the last one cut to the terminal.
 *
 * @module
 */

import { paint, type Palette } from "./style.ts";

/** A cell: text, or text with a colour. */
export type Cell = string | { readonly text: string; readonly colour: keyof Palette };

/** How a table is drawn. */
export interface TableOptions {
  /** The heads of the columns; one that begins with `>` stands, with its column, to the right. */
  readonly heads: readonly string[];
  /** The colours. */
  readonly palette: Palette;
  /** How many cells of the terminal a line may take; Infinity: nothing is cut. */
  readonly columns: number;
}

const GAP = 2;

/** Draws a table. */
export function table(rows: readonly (readonly Cell[])[], options: TableOptions): string {
  const { palette, columns } = options;
  const right = options.heads.map((head) => head.startsWith(">"));
  const heads = options.heads.map((head) => head.replace(/^>/, ""));
  const texts = rows.map((row) => row.map((cell) => clean(textOf(cell))));
  const widths = heads.map((head, at) =>
    texts.reduce((width, row) => Math.max(width, lengthOf(row[at] ?? "")), lengthOf(head))
  );
  const last = heads.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP, 0);
  const room = Math.max(lengthOf(heads[last] ?? ""), 8, columns - before);
  const line = (cells: readonly string[], colours: readonly (keyof Palette | null)[]): string =>
    cells.map((text, at) => {
      const shown = at === last ? cut(text, room) : text;
      const space = " ".repeat(Math.max(0, (widths[at] as number) - lengthOf(shown)));
      const colour = colours[at] ?? null;
      const painted = colour === null ? shown : paint(palette, colour, shown);
      if (right[at]) return space + painted;
      return at === last ? painted : painted + space;
    }).join(" ".repeat(GAP)).trimEnd();
  return [
    line(heads, heads.map(() => "dim")),
    ...texts.map((row, at) =>
      line(row, (rows[at] as readonly Cell[]).map((cell) => colourOf(cell)))
    ),
  ].join("\n");
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

function colourOf(cell: Cell): keyof Palette | null {
  return typeof cell === "string" ? null : cell.colour;
}

/**
 * What comes from rows may hold anything; control characters would let a message of an error write
 * all over the terminal.
 */
export function clean(text: string): string {
  // deno-lint-ignore no-control-regex -- these are the characters that must not get out
  return text.replace(/\s*\n\s*/g, " ⏎ ").replace(/[\x00-\x1f\x7f-\x9f]/g, "�");
}

function lengthOf(text: string): number {
  return [...text].length;
}

function cut(text: string, room: number): string {
  return lengthOf(text) <= room ? text : `${[...text].slice(0, room - 1).join("")}…`;
}
