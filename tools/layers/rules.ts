/**
 * The layers as data: which room may import which, and who may name what.
 *
 * A room is a folder of `src/` or `drivers/`, or one of the files beside them. Whatever a room
 * is not allowed here, it must not import: a new room or a new dependency is added here first, with
 * its reason, and `docs/architecture.md` says the same in prose.
 *
 * @module
 */

/** For each room, the rooms it may import; its own is always allowed. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  "src/errors.ts": [],
  "src/version.ts": [],
  "src/define": ["src/errors.ts"],
  "src/state": ["src/errors.ts", "src/define"],
  "src/seams": ["src/errors.ts", "src/define", "src/state"],
  "src/observe": ["src/errors.ts", "src/define"],
  "src/iterate": ["src/errors.ts", "src/define", "src/state", "src/seams"],
  "src/run": [
    "src/errors.ts",
    "src/define",
    "src/state",
    "src/seams",
    "src/observe",
    "src/iterate",
  ],
  "src/dashboard": [
    "src/errors.ts",
    "src/version.ts",
    "src/define",
    "src/state",
    "src/seams",
    "src/observe",
    "src/run",
  ],
  // Helpers of tests bring a store and queues of their own, so that a test needs no set-up.
  "src/testing": [
    "src/errors.ts",
    "src/define",
    "src/state",
    "src/seams",
    "src/observe",
    "src/iterate",
    "src/run",
    "drivers/memory",
    "drivers/queues",
  ],
  // The command line is a program and not a part: it opens whatever database it is pointed at.
  "src/cli": [
    "src/errors.ts",
    "src/version.ts",
    "src/define",
    "src/state",
    "src/seams",
    "src/observe",
    "src/run",
    "src/dashboard",
    "drivers/memory",
    "drivers/sqlite",
    "drivers/postgres",
    "drivers/mysql",
    "drivers/queues",
  ],
  // The main entry puts the engine together, with polling as its queue when none is given.
  "mod.ts": [
    "src/errors.ts",
    "src/define",
    "src/state",
    "src/seams",
    "src/observe",
    "src/iterate",
    "src/run",
    "drivers/queues",
  ],
  "drivers/sql": ["src/errors.ts", "src/define", "src/state", "src/seams"],
  "drivers/memory": ["src/errors.ts", "src/define", "src/state", "src/seams"],
  "drivers/sqlite": ["src/errors.ts", "src/define", "src/state", "src/seams", "drivers/sql"],
  "drivers/postgres": ["src/errors.ts", "src/define", "src/state", "src/seams", "drivers/sql"],
  "drivers/mysql": ["src/errors.ts", "src/define", "src/state", "src/seams", "drivers/sql"],
  // The queue in PostgreSQL is a table of the store's database: it shares the store's way to it.
  "drivers/queues": ["src/errors.ts", "src/define", "src/state", "src/seams", "drivers/postgres"],
};

/** The clients of databases and queues, and the only places that may import each. */
export const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  "node:sqlite": ["drivers/sqlite/"],
  "pg": [
    "drivers/postgres/",
    "drivers/queues/postgres.ts",
    "drivers/queues/postgres_engines.ts",
    "drivers/queues/graphile_",
    "drivers/queues/pg_boss",
  ],
  "graphile-worker": ["drivers/queues/graphile_"],
  "pg-boss": ["drivers/queues/pg_boss"],
  "mysql2": ["drivers/mysql/"],
  "bullmq": ["drivers/queues/bullmq.ts", "drivers/queues/bullmq/"],
  "ioredis": ["drivers/queues/bullmq.ts", "drivers/queues/bullmq/"],
  "@nats-io/jetstream": ["drivers/queues/nats.ts", "drivers/queues/nats/"],
  "@nats-io/transport-node": ["drivers/queues/nats.ts", "drivers/queues/nats/"],
};

/** Files that may name the `Deno` global, each with its reason. */
export const DENO_ALLOWED: Readonly<Record<string, string>> = {
  "drivers/queues/deno_kv.ts":
    "Deno KV exists in Deno only; the file reaches it through globalThis and says so where it is missing",
};

/** Folders that may import what is only known at run time, each with its reason. */
export const COMPUTED_ALLOWED: Readonly<Record<string, string>> = {
  "src/cli/": "The worker and check commands load the module that the user names",
};
