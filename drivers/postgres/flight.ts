/**
 * Flights: statements that travel to the server in one message and come back in one answer.
 *
 * A round trip per statement is what a write costs most, and none of the statements of a flight
 * needs the answer of another. The client (`pg`) offers this through query objects that write the
 * protocol's messages themselves, the way its own cursors do: one Sync ends the flight, so it is
 * one transaction unless it began or joined one, and after an error the server skips the rest.
 *
 * Statements are prepared once per connection under a name that is the hash of their text, and
 * their columns are asked for once. All values travel as text: so no parser that the application
 * set up for its own queries has a say, and none is set up here.
 *
 * @module
 */

import { createHash } from "node:crypto";
// @ts-types="@types/pg"
import type { ClientBase } from "pg";
import type { Reply, SqlRow, SqlScalar, SqlValue } from "../sql/client.ts";
import { createMessages, type Messages } from "./messages.ts";

/** One statement of a flight. */
export interface Ask {
  /** The text. */
  readonly text: string;
  /** One value per placeholder. */
  readonly params: readonly SqlValue[];
}

/** What came of one statement of a flight. */
export interface Answer extends Reply {
  /** The command that the server says it ran, such as `COMMIT`. */
  readonly command: string;
}

/** Sends statements together and answers each; rejects with what the server said of the first that failed. */
export type Fly = (client: ClientBase, asks: readonly Ask[]) => Promise<readonly Answer[]>;

/** What is known of a text: its name, and its columns once a server has told them. */
interface Shape {
  readonly name: string;
  columns: readonly string[] | null;
  /** A row without values, which is quicker to copy than to build. */
  blank: Record<string, unknown>;
}

/** What is used of the client's connection. */
interface Wire {
  readonly stream: { write(bytes: Uint8Array): unknown };
  readonly parsedStatements: Record<string, string | undefined>;
}

const MAX_SHAPES = 2_000;

/** Makes the way to fly; without names every statement is parsed anew, as old poolers need it. */
export function createFly(options: { readonly names: () => boolean }): Fly {
  const shapes = new Map<string, Shape>();

  function shapeOf(text: string): Shape {
    const known = shapes.get(text);
    if (known !== undefined) return known;
    if (shapes.size >= MAX_SHAPES) shapes.clear();
    const name = `pawl_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
    const shape: Shape = { name, columns: null, blank: {} };
    shapes.set(text, shape);
    return shape;
  }

  return (client, asks) =>
    isWired(client)
      ? flyWired(client, asks, asks.map((ask) => shapeOf(ask.text)), options.names())
      : flyOneByOne(client, asks);
}

/** Whether the client lets query objects write their own messages, so that a flight is one message. */
export function isWired(client: ClientBase): boolean {
  const { connection, pipeline } = client as { connection?: Partial<Wire>; pipeline?: unknown };
  return pipeline !== true && typeof connection?.stream?.write === "function" &&
    connection.parsedStatements !== undefined;
}

function flyWired(
  client: ClientBase,
  asks: readonly Ask[],
  shapes: readonly Shape[],
  named: boolean,
): Promise<readonly Answer[]> {
  return new Promise((resolve, reject) => {
    const answers: Answer[] = [];
    let rows: SqlRow[] = [];
    let wire: Wire | null = null;
    const current = (): Shape => shapes[answers.length] as Shape;
    const query = {
      /** Set by the client when it limits the time of queries; it must hear of the end. */
      callback: undefined as ((error: unknown) => void) | undefined,
      submit(connection: Wire): void {
        wire = connection;
        const messages = createMessages();
        asks.forEach((ask, at) => put(messages, connection, ask, shapes[at] as Shape, named));
        messages.sync();
        connection.stream.write(messages.bytes());
      },
      handleRowDescription(message: { fields: readonly { name: string }[] }): void {
        const shape = current();
        shape.columns = message.fields.map((field) => field.name);
        shape.blank = Object.fromEntries(shape.columns.map((column) => [column, null]));
      },
      handleDataRow(message: { fields: readonly (string | null)[] }): void {
        const { columns, blank } = current();
        const { fields } = message;
        const row = { ...blank };
        for (let at = 0; at < fields.length; at++) {
          if (fields[at] !== null) row[columns?.[at] as string] = fields[at];
        }
        rows.push(row);
      },
      handleCommandComplete(message: { text: string }): void {
        const shape = current();
        shape.columns ??= [];
        const { text } = asks[answers.length] as Ask;
        if (named && wire !== null) wire.parsedStatements[shape.name] = text;
        answers.push(answerOf(message.text, rows));
        rows = [];
      },
      handleReadyForQuery(): void {
        query.callback?.(null);
        resolve(answers);
      },
      handleError(error: unknown): void {
        query.callback?.(error);
        reject(error);
      },
      handleEmptyQuery(): void {},
      handlePortalSuspended(): void {},
      handleCopyInResponse(): void {},
      handleCopyData(): void {},
    };
    client.query(query as never);
  });
}

function put(messages: Messages, wire: Wire, ask: Ask, shape: Shape, named: boolean): void {
  const { text, params } = ask;
  const statement = named ? shape.name : "";
  if (!named || wire.parsedStatements[statement] !== text) {
    // A statement that failed may have been parsed before it did; closing what is not there is fine.
    if (named) messages.close(statement);
    messages.parse(statement, text);
  }
  messages.bind(statement, params.map(encoded));
  if (shape.columns === null) messages.describe();
  messages.execute();
}

/** For clients that are not wired: the same statements, one round trip each. */
async function flyOneByOne(client: ClientBase, asks: readonly Ask[]): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const { text, params } of asks) {
    const result = await client.query({ text, values: params.map(encoded), types: AS_TEXT });
    const { rows, rowCount, command } = result;
    answers.push({ rows, changes: rowCount ?? 0, lastId: null, command });
  }
  return answers;
}

const AS_TEXT = { getTypeParser: () => (value: unknown) => value } as never;

/** A tag such as `UPDATE 5` or `INSERT 0 5`. */
function answerOf(tag: string, rows: readonly SqlRow[]): Answer {
  const words = tag.split(" ");
  return {
    rows,
    changes: words.length === 1 ? 0 : Number(words.at(-1)),
    lastId: null,
    command: words[0] as string,
  };
}

/** A value as the server reads it. */
function encoded(value: SqlValue): string | null {
  if (value === null || typeof value === "string") return value;
  return Array.isArray(value) ? arrayText(value) : String(value);
}

/** Elements that mean the same in quotes and without; of four letters is also the word for null. */
const PLAIN = /^(?!....$)[\w.:+-]+$/;

/** The text of an array of text or of what is written as text. */
export function arrayText(values: readonly SqlScalar[]): string {
  let text = "{";
  for (let at = 0; at < values.length; at++) {
    if (at > 0) text += ",";
    const value = values[at];
    if (value === null || value === undefined) text += "NULL";
    else if (typeof value !== "string") text += String(value);
    else if (PLAIN.test(value)) text += value;
    else text += `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
  }
  return `${text}}`;
}
