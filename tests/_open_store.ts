/** Opens a store by its address: a URL of a server, or the path of a SQLite file. */

import type { StoreDriver } from "../mod.ts";
import { sqliteStore } from "../drivers/sqlite/mod.ts";

/** How the store of a server is opened. */
export interface OpenOptions {
  /** How many connections it may hold. */
  readonly maxConnections?: number;
  /** How long an answer may be silent before the server is asked after it. */
  readonly silenceMs?: number;
}

/** Opens a store; the client of a server is loaded only where there is one. */
export async function openStore(address: string, options: OpenOptions = {}): Promise<StoreDriver> {
  if (address.startsWith("postgres")) {
    const { postgresStore } = await import("../drivers/postgres/mod.ts");
    return postgresStore(address, options);
  }
  if (address.startsWith("mysql")) {
    const { mysqlStore } = await import("../drivers/mysql/mod.ts");
    return mysqlStore(address, options);
  }
  return sqliteStore(address);
}
