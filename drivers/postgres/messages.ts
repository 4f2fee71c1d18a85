/**
 * The messages of the extended query protocol, written one after the other into one buffer.
 *
 * The client would write each message for itself, and a flight has a dozen or more of them: one
 * write is several times as quick.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** A buffer that messages are written to. */
export interface Messages {
  /** Closes a prepared statement, whether it exists or not. */
  close(statement: string): void;
  /** Prepares a statement under a name, or under none. */
  parse(statement: string, text: string): void;
  /** Binds values, as text, to a prepared statement. */
  bind(statement: string, values: readonly (string | null)[]): void;
  /** Asks for the columns of what was bound. */
  describe(): void;
  /** Executes what was bound. */
  execute(): void;
  /** Ends the flight. */
  sync(): void;
  /** Everything that was written. */
  bytes(): Uint8Array;
}

const FIRST_SIZE = 4_096;

/** The largest number of bytes that a character of a string takes. */
const MAX_WIDTH = 3;

/** Makes an empty buffer. */
export function createMessages(): Messages {
  let buffer = Buffer.allocUnsafe(FIRST_SIZE);
  let length = 0;

  function reserve(bytes: number): void {
    if (length + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + bytes));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  }

  function int16(value: number): void {
    reserve(2);
    length = buffer.writeUInt16BE(value, length);
  }

  function int32(value: number): void {
    reserve(4);
    length = buffer.writeInt32BE(value, length);
  }

  /** A string, which zero ends. */
  function cstring(text: string): void {
    reserve(text.length * MAX_WIDTH + 1);
    length += buffer.write(text, length);
    buffer[length++] = 0;
  }

  /** A value with its length before it. */
  function value(text: string | null): void {
    if (text === null) return int32(-1);
    reserve(4 + text.length * MAX_WIDTH);
    const written = buffer.write(text, length + 4);
    buffer.writeInt32BE(written, length);
    length += 4 + written;
  }

  /** A message: its letter, its length (without the letter), its body. */
  function message(letter: string, body: () => void): void {
    reserve(5);
    buffer[length] = letter.charCodeAt(0);
    const start = length + 1;
    length += 5;
    body();
    buffer.writeInt32BE(length - start, start);
  }

  return {
    close: (statement) => message("C", () => cstring(`S${statement}`)),
    parse: (statement, text) =>
      message("P", () => {
        cstring(statement);
        cstring(text);
        // The server finds out the types of the parameters by itself.
        int16(0);
      }),
    bind: (statement, values) =>
      message("B", () => {
        cstring("");
        cstring(statement);
        // No format codes: everything is text, what is sent and what comes back.
        int16(0);
        int16(values.length);
        for (const one of values) value(one);
        int16(0);
      }),
    describe: () => message("D", () => cstring("P")),
    execute: () =>
      message("E", () => {
        cstring("");
        int32(0);
      }),
    sync: () => message("S", () => {}),
    bytes: () => buffer.subarray(0, length),
  };
}
