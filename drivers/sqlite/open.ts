/**
 * Opening a database file.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../src/errors.ts";
import { DRIVER, explained, isBusy, isReadOnly } from "./errors.ts";
import { type Patience, patienceOf } from "./turns.ts";

/** How a database is opened and waited for. */
export interface OpenOptions {
  /** How long a call waits in all for a database that is busy. */
  readonly busyTimeoutMs: number;
  /** How surely a commit is on the disk: `full` survives a power cut, `normal` a crash. */
  readonly synchronous: "normal" | "full";
}

/**
 * The part of the waiting that SQLite does itself. It stops the whole process, heartbeats included,
 * so it is short; the rest is waited for with timers.
 */
const BLOCKING_MS = 50;

/** Whether a path means a file, and not a database in memory. */
export function isFile(path: string): boolean {
  return path !== "" && path !== ":memory:" && !path.startsWith("file::memory:");
}

/**
 * How many pages the write-ahead log has before it is brought into the file: 16 MB. The default of
 * 1,000 does so every 16 commits of a hundred steps each, with two flushes of the disk, and writes
 * pages that the very next commits change again.
 */
const LOG_PAGES = 4_000;

/** Opens a database that reads and writes. */
export async function openDatabase(path: string, options: OpenOptions): Promise<DatabaseSync> {
  const patience = patienceOf(options.busyTimeoutMs);
  const db = await construct(path, {});
  try {
    setUp(db, options);
    if (isFile(path)) await writeAhead(db, patience);
    db.prepare(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`).get();
    db.prepare(`PRAGMA synchronous = ${options.synchronous === "full" ? "FULL" : "NORMAL"}`).run();
    return db;
  } catch (error) {
    db.close();
    throw explained(error, "open", path);
  }
}

/** Opens a second connection that only reads, for when the first is inside a transaction. */
export async function openReader(path: string, options: OpenOptions): Promise<DatabaseSync> {
  const db = await construct(path, { readOnly: true });
  try {
    setUp(db, options);
    return db;
  } catch (error) {
    db.close();
    throw explained(error, "open", path);
  }
}

async function construct(path: string, how: { readOnly?: boolean }): Promise<DatabaseSync> {
  const sqlite = await load();
  try {
    return new sqlite.DatabaseSync(path, how);
  } catch (error) {
    throw explained(error, "open", path);
  }
}

/**
 * Imported when it is needed: so the entry can be imported where the module does not exist, and
 * whoever then opens a file is told what to do in place of the loader's words.
 */
async function load(): Promise<typeof import("node:sqlite")> {
  try {
    return await import("node:sqlite");
  } catch (cause) {
    throw new StoreError(
      DRIVER,
      "Cannot open a database: this runtime has no node:sqlite; use a newer one (Node 22.16 has it)",
      { cause },
    );
  }
}

function setUp(db: DatabaseSync, { busyTimeoutMs }: OpenOptions): void {
  // By SQL, because the constructor's own option is not honoured everywhere.
  const blocking = Math.min(BLOCKING_MS, Math.trunc(busyTimeoutMs));
  db.prepare(`PRAGMA busy_timeout = ${blocking}`).get();
  db.prepare("PRAGMA foreign_keys = ON").run();
}

/** With write-ahead logging nobody who reads waits for who writes. It is a property of the file. */
async function writeAhead(db: DatabaseSync, patience: Patience): Promise<void> {
  while (true) {
    try {
      const mode = db.prepare("PRAGMA journal_mode").get()?.journal_mode;
      if (mode !== "wal") db.prepare("PRAGMA journal_mode = WAL").get();
      return;
    } catch (error) {
      // A file that can only be read is read as it is.
      if (isReadOnly(error)) return;
      // Several processes may be opening a new file at the same moment.
      if (!isBusy(error) || !await patience.wait()) throw error;
    }
  }
}
