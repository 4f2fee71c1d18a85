/**
 * Opening a store of the installed package by its name, as an application in JavaScript would.
 */

/**
 * Opens a store; whoever calls again sees the same database, unless it is in memory.
 *
 * @param {string} kind `memory`, `sqlite`, `postgres` or `mysql`.
 * @param {string} address A path or a URL.
 * @param {{ tablePrefix?: string }} [options]
 * @returns {Promise<import("@pawl/pawl").StoreDriver>}
 */
export async function openStore(kind, address, options) {
  switch (kind) {
    case "memory":
      return (await import("@pawl/pawl/memory")).memoryStore();
    case "sqlite":
      return (await import("@pawl/pawl/sqlite")).sqliteStore(address, options);
    case "postgres":
      return (await import("@pawl/pawl/postgres")).postgresStore(address, options);
    case "mysql":
      return (await import("@pawl/pawl/mysql")).mysqlStore(address, options);
    default:
      throw new Error(`Cannot open a store: there is none called "${kind}"`);
  }
}
