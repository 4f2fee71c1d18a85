/**
 * Where a resumable step stands: the cursor in memory and what is stored of it.
 *
 * A cursor is encoded when it is given, so that what the caller does to the value afterwards
 * changes nothing. Once the execution was interrupted no new cursor is taken, even if the body
 * swallowed the signal; only what a source had finished before is still stored.
 *
 * @module
 */

import type { IterDeps } from "./deps.ts";
import { createStops, type Stops } from "./stops.ts";
import { createWriter, type Writer } from "./writer.ts";

/** A cursor with the text it is stored as. */
export interface Encoded {
  /** The value. */
  readonly value: unknown;
  /** Its text, taken when it was given. */
  readonly text: string | null;
}

/** A new cursor: its snapshot, or how to make it of the one before. */
export type NextCursor = Encoded | ((cursor: unknown) => unknown);

/** The cursor of one execution, shared by `iter` and its sources. */
export interface Position extends Stops {
  /** The cursor as the body sees it. */
  readonly cursor: unknown;
  /** Whether the cursor was set in this execution. */
  readonly advanced: boolean;
  /** Items that a source finished since the cursor was last stored. */
  readonly unsaved: number;
  /** The writes, one at a time. */
  readonly writer: Writer;
  /** Whether a source moved the cursor last. */
  readonly heldBySource: boolean;
  /** Whether a source finished items that have no cursor. */
  readonly cursorless: boolean;
  /** Encodes a cursor; throws for what cannot be stored. */
  encode(value: unknown): Encoded;
  /** The same for one that may never be stored: an integer is its own snapshot, and has no text. */
  snapshot(value: unknown): string | null | undefined;
  /**
   * Stores a cursor, or what a function makes of the present one when its turn comes, and then
   * does what follows, before the next write has its turn.
   */
  store(next: NextCursor, then: () => void): Promise<void>;
  /** Stores the cursor as it is, in the same manner. */
  keep(then: () => void): Promise<void>;
  /** Moves the cursor to a value and its snapshot without storing it; `flush` will. */
  move(value: unknown, snapshot: string | null | undefined): void;
  /** Stores what was moved or noted and is not stored yet. */
  flush(): Promise<void>;
}

/** Makes the position of one execution. */
export function createPosition(deps: IterDeps): Position {
  const stops = createStops(deps);
  const writer = createWriter(deps);
  const current = createCursor(deps);
  let advanced = false;
  let unsaved = 0;
  let heldBySource = false;
  let cursorless = false;

  function encode(value: unknown): Encoded {
    return { value, text: deps.encode(value) };
  }

  async function write(next: Encoded): Promise<void> {
    stops.ensureRunning();
    await writer.save(next.text);
    current.become(next.value, next.text);
    unsaved = 0;
  }

  async function flush(): Promise<void> {
    if (unsaved === 0 && writer.pendingProgress === null) return;
    await writer.inOrder(async () => {
      const items = unsaved;
      await writer.save(items > 0 ? current.text() : undefined);
      unsaved -= items;
    });
  }

  return {
    ...stops,
    writer,
    encode,
    flush,
    get cursor(): unknown {
      return current.value();
    },
    get advanced(): boolean {
      return advanced;
    },
    get unsaved(): number {
      return unsaved;
    },
    get heldBySource(): boolean {
      return heldBySource;
    },
    get cursorless(): boolean {
      return cursorless;
    },
    store(next: NextCursor, then: () => void): Promise<void> {
      return writer.inOrder(async () => {
        await write(typeof next === "function" ? encode(next(current.value())) : next);
        advanced = true;
        heldBySource = false;
        then();
      });
    },
    keep(then: () => void): Promise<void> {
      return writer.inOrder(async () => {
        await write(encode(current.value()));
        then();
      });
    },
    snapshot: (value) => Number.isSafeInteger(value) ? undefined : deps.encode(value),
    move(value: unknown, snapshot: string | null | undefined): void {
      stops.ensureRunning();
      current.become(value, snapshot);
      advanced = true;
      unsaved++;
      heldBySource = true;
      if (value === null) cursorless = true;
    },
  };
}

interface Cursor {
  /** What it is stored as. */
  text(): string | null;
  /** What the body sees. */
  value(): unknown;
  become(value: unknown, text: string | null | undefined): void;
}

/** The cursor in memory: a primitive as it is, anything else read back from its text when asked for. */
function createCursor(deps: IterDeps): Cursor {
  let value = deps.initialCursor;
  let text: string | null | undefined;
  let isRead = true;
  return {
    text(): string | null {
      return text === undefined ? deps.encode(value) : text;
    },
    value(): unknown {
      if (!isRead && typeof text === "string") value = deps.decode(text);
      isRead = true;
      return value;
    },
    become(newValue: unknown, newText: string | null | undefined): void {
      value = newValue;
      text = newText;
      isRead = typeof newValue !== "object" || newValue === null;
    },
  };
}
