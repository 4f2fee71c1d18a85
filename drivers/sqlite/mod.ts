/**
 * The SQLite store: workflows in a file, or in a database that the application has open already.
 *
 * @example Beside the application's own tables
 * ```ts
 * import { createEngine, workflow } from "@pawl/pawl";
 * import { sqliteStore } from "@pawl/pawl/sqlite";
 * import { DatabaseSync } from "node:sqlite";
 *
 * const db = new DatabaseSync(":memory:"); // or "app.db"
 * const greeting = workflow({ name: "greeting", steps: [{ run: () => console.log("hello") }] });
 * const engine = createEngine({ store: sqliteStore(db), workflows: [greeting] });
 * await engine.migrate();
 * await engine.transaction(async (tx: DatabaseSync) => {
 *   tx.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY)"); // whatever the application writes,
 *   await engine.start(greeting, { tx }); // and the start commit together
 * });
 * await engine.close();
 * ```
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { optionsObject } from "../../src/define/options.ts";
import { InvalidInputError } from "../../src/errors.ts";
import type { StoreDriver } from "../../src/seams/store.ts";
import { sqlStore } from "../sql/store.ts";
import { sqliteClient } from "./client.ts";
import { sqliteDialect } from "./dialect.ts";
import { MIGRATIONS } from "./migrations.gen.ts";

export type { StoreDriver } from "../../src/seams/store.ts";

/** What `sqliteStore` may be told. */
export interface SqliteStoreOptions {
  /**
   * What the names of all tables and indexes begin with.
   *
   * @default {"pawl_"}
   */
  readonly tablePrefix?: string;
  /**
   * How long a call waits in all, in milliseconds, while another connection is writing. Only the
   * first 50 of them block the process.
   *
   * @default {5000}
   */
  readonly busyTimeoutMs?: number;
  /**
   * How surely a commit is on the disk, for a file that the store opens itself: `normal` survives a
   * crash of the process, `full` also a power cut, for one more disk flush per commit.
   *
   * @default {"normal"}
   */
  readonly synchronous?: "normal" | "full";
}

/**
 * Makes a store that keeps its tables in an SQLite database.
 *
 * A path is opened at the first use (with write-ahead logging) and closed by `close()`. A database
 * that the application gives is used as it is and never closed; it is also what `tx` takes, so that
 * a start commits together with the application's own writes. On a shared connection everything is
 * in whatever transaction is open: an application that begins transactions and then awaits should
 * pass them as `tx`, or give the store a connection of its own.
 *
 * @param source A path, a `file:` URL, `":memory:"`, or an open `DatabaseSync`.
 * @param options Prefix, patience and durability.
 * @returns The store.
 * @throws {InvalidInputError} When an argument is not one of these.
 * @throws {StepConfigurationError} When there is no such option.
 *
 * @example A file of its own
 * ```ts ignore
 * const engine = createEngine({ store: sqliteStore("app.db"), workflows: [onboarding] });
 * await engine.migrate();
 * ```
 */
export function sqliteStore(
  source: string | URL | DatabaseSync,
  options: SqliteStoreOptions = {},
): StoreDriver<DatabaseSync> {
  optionsObject(
    options,
    ["tablePrefix", "busyTimeoutMs", "synchronous"],
    "the options of sqliteStore()",
  );
  const { tablePrefix, busyTimeoutMs = 5_000, synchronous = "normal" } = options;
  if (!Number.isFinite(busyTimeoutMs) || busyTimeoutMs < 0) {
    throw new InvalidInputError(
      `Cannot use ${String(busyTimeoutMs)} as busyTimeoutMs: it is not a time to wait; ` +
        `use milliseconds, 0 or more`,
    );
  }
  if (synchronous !== "normal" && synchronous !== "full") {
    throw new InvalidInputError(
      `Cannot use ${JSON.stringify(synchronous)} as synchronous: use "normal" or "full"`,
    );
  }
  const client = sqliteClient(databaseOf(source), { busyTimeoutMs, synchronous });
  const store = sqlStore(client, sqliteDialect, { tablePrefix, migrations: MIGRATIONS });
  return { ...store, exclusive: true };
}

function databaseOf(source: unknown): string | DatabaseSync {
  // SQLite would make a nameless file that is gone when it is closed.
  if (typeof source === "string" && source.trim() === "") {
    throw new InvalidInputError(
      'Cannot open a database without a name: pass a path such as "app.db", or ":memory:"',
    );
  }
  // A drive of Windows is one letter; a file called "sqlite:app.db" is nobody's wish.
  const scheme = typeof source === "string"
    ? /^([a-z][a-z0-9+.-]+):/i.exec(source)?.[1]
    : undefined;
  if (scheme !== undefined && scheme.toLowerCase() !== "file") {
    throw new InvalidInputError(
      `Cannot open a URL that begins with "${scheme}:" as SQLite: pass a path such as "app.db", or ` +
        `take the store of that database`,
    );
  }
  if (typeof source === "string" && !source.startsWith("file://")) return source;
  if (typeof source === "string" || source instanceof URL) return pathOf(source);
  if (typeof source === "object" && source !== null && "prepare" in source) {
    return source as DatabaseSync;
  }
  throw new InvalidInputError(
    `Cannot open ${String(source)} as a database: pass a path, a file: URL or a DatabaseSync`,
  );
}

function pathOf(url: string | URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new InvalidInputError(`Cannot open ${String(url)}: it is not the URL of a file`, {
      cause,
    });
  }
}
