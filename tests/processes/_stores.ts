/** Opens a store by its address: a URL of a server, or the path of a SQLite file. */

import type { StoreDriver } from "../../mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";

export async function openStore(address: string): Promise<StoreDriver> {
  if (address.startsWith("postgres")) {
    const { postgresStore } = await import("../../drivers/postgres/mod.ts");
    return postgresStore(address);
  }
  if (address.startsWith("mysql")) {
    const { mysqlStore } = await import("../../drivers/mysql/mod.ts");
    return mysqlStore(address);
  }
  return sqliteStore(address);
}
