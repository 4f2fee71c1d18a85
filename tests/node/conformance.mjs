/**
 * The conformance cases on the installed package, with the test runner of Node (or of Bun).
 * `PAWL_NODE_SUBJECT` names what is tested, `PAWL_NODE_DATABASE` its path or URL, empty at first.
 */

import crypto from "node:crypto";
import process from "node:process";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { systemClock } from "@pawl/pawl";
import { memoryDatabase, memoryStore } from "@pawl/pawl/memory";
import { inlineQueue, pollingQueue, postgresQueue } from "@pawl/pawl/queues";
import { createFakeClock, registerQueueCases, registerStoreCases } from "@pawl/pawl/testing";
import { openStore } from "./_stores.mjs";

const { PAWL_NODE_SUBJECT: subject = "", PAWL_NODE_DATABASE: address = "" } = process.env;

/** What can be tested, by name; each registers its cases. */
const SUBJECTS = {
  memory: () =>
    stores(() => {
      const database = memoryDatabase();
      return { open: () => memoryStore({ database }) };
    }),
  async sqlite() {
    const { DatabaseSync } = await import("node:sqlite");
    await sqlStores("0", (sql, params) => {
      const database = new DatabaseSync(address);
      try {
        return Promise.resolve(database.prepare(sql).all(...params));
      } finally {
        database.close();
      }
    });
  },
  async postgres() {
    const query = await postgresQuery();
    await sqlStores("'1970-01-01T00:00:00Z'", query);
  },
  async mysql() {
    const { createPool } = await import("mysql2/promise");
    const pool = createPool({ uri: address, connectionLimit: 1 });
    after(() => pool.end());
    await sqlStores("'1970-01-01'", async (sql, params) => (await pool.query(sql, params))[0]);
  },
  queues() {
    const skip = [{
      name: "a job reaches a listener that serves its queue",
      reason: "Its one listener is the engine of its own process, which serves every queue",
    }];
    queues("polling", { open: () => onRealTime(pollingQueue()) });
    queues("inline", { open: () => onFakeTime(inlineQueue()), skip });
    queues("deferred", { open: () => onFakeTime(inlineQueue({ deferred: true })), skip });
  },
  async "postgres queue"() {
    const query = await postgresQuery();
    await migrate();
    queues("postgres", {
      open: () => ({
        ...onRealTime(postgresQueue(address)),
        drop: () => query("DELETE FROM pawl_jobs", []),
      }),
    });
  },
  "bullmq queue": () => redisQueues(),
  "nats queue": () => natsQueues(),
  async "graphile-worker queue"() {
    const { graphileWorkerQueue } = await import("@pawl/pawl/graphile-worker");
    await engineQueue("graphile-worker", graphileWorkerQueue, "graphile_worker._private_jobs");
  },
  async "pg-boss queue"() {
    const { pgBossQueue } = await import("@pawl/pawl/pg-boss");
    await engineQueue("pg-boss", pgBossQueue, "pgboss.job");
  },
};

/** Keys of its own for each case, on a Redis that others use too. */
async function redisQueues() {
  const { bullmqQueue } = await import("@pawl/pawl/bullmq");
  const { Redis } = await import("ioredis");
  const redis = new Redis(address);
  after(() => redis.quit());
  queues("bullmq", {
    open() {
      const prefix = `pawl_test_${crypto.randomUUID().slice(0, 8)}`;
      return {
        ...onRealTime(bullmqQueue(address, { prefix })),
        async drop() {
          const keys = await redis.keys(`${prefix}:*`);
          if (keys.length > 0) await redis.del(...keys);
        },
      };
    },
  });
}

/** A stream of its own for each case, on a NATS that others use too. */
async function natsQueues() {
  const { natsQueue } = await import("@pawl/pawl/nats");
  const { jetstreamManager } = await import("@nats-io/jetstream");
  const { connect } = await import("@nats-io/transport-node");
  const connection = await connect({ servers: new URL(address).host });
  after(() => connection.close());
  const { streams } = await jetstreamManager(connection);
  queues("nats", {
    open() {
      const stream = `pawl_test_${crypto.randomUUID().slice(0, 8)}`;
      return {
        ...onRealTime(natsQueue(address, { stream })),
        drop: () => streams.delete(stream).catch(() => {}),
      };
    },
  });
}

/** Graphile Worker and pg-boss keep their jobs in a schema of their own. */
async function engineQueue(name, open, table) {
  const query = await postgresQuery();
  queues(name, {
    open: () => ({
      ...onRealTime(open(address)),
      // A case that used nothing has made no table.
      drop: () => query(`DELETE FROM ${table}`, []).catch(() => {}),
    }),
  });
}

async function postgresQuery() {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: address, max: 1 });
  after(() => pool.end());
  return async (sql, params) => (await pool.query(sql, [...params])).rows;
}

/** One database for all cases, because making its tables takes longer than a case does. */
async function sqlStores(longAgo, query) {
  await migrate();
  stores(async () => {
    await query("DELETE FROM pawl_workflows", []);
    await query(`UPDATE pawl_duties SET holder = NULL, held_until = ${longAgo}`, []);
    return { open: () => openStore(subject, address), query };
  });
}

async function migrate() {
  const store = await openStore(subject.split(" ")[0], address);
  await store.migrate();
  await store.close();
}

function stores(database) {
  registerStoreCases(subject, { database }, register);
}

function queues(name, queue) {
  registerQueueCases(name, queue, register);
}

function onFakeTime(queue) {
  const clock = createFakeClock();
  return { queue, clock, advance: (ms) => clock.tick(ms) };
}

function onRealTime(queue) {
  return { queue, clock: systemClock, advance: (ms) => setTimeout(ms) };
}

function register(name, run, skip) {
  test(name, { skip: skip ?? false, timeout: 60_000 }, () => run());
}

if (SUBJECTS[subject] === undefined) {
  throw new Error(`Cannot test "${subject}": choose from ${Object.keys(SUBJECTS).join(", ")}`);
}
await SUBJECTS[subject]();
