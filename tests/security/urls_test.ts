/** Addresses of databases: no message, no field and no cause shows their password. */

import assert from "node:assert/strict";
import { mysqlStore } from "../../drivers/mysql/mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { bullmqQueue } from "../../drivers/queues/bullmq.ts";
import { natsQueue } from "../../drivers/queues/nats.ts";
import { postgresQueue } from "../../drivers/queues/postgres.ts";
import { createEngine, workflow } from "../../mod.ts";
import { masked } from "../../src/cli/database.ts";
import { mysqlServer, postgresServer } from "../_servers.ts";
import { recordingLogger } from "../run/_doubles.ts";

const SECRET = "Hunter2-Pa55";

/** Everything that somebody could print of what was thrown. */
async function shownBy(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    const { message, stack, cause } = error as Error;
    return [message, stack, Deno.inspect(error, { depth: 10 }), Deno.inspect(cause)].join("\n");
  }
  throw new Error("It should have been refused");
}

async function assertHidden(what: string, call: () => unknown): Promise<void> {
  const shown = await shownBy(call);
  assert.equal(shown.includes(SECRET), false, `${what} shows the password: ${shown}`);
}

const UNREACHABLE = "127.0.0.1:1";

Deno.test("a server that does not answer is named without the password", async () => {
  const pg = postgresStore(`postgres://ann:${SECRET}@${UNREACHABLE}/shop`);
  await assertHidden("PostgreSQL", () => pg.counts());
  await pg.close();
  const my = mysqlStore(`mysql://ann:${SECRET}@${UNREACHABLE}/shop`);
  await assertHidden("MySQL", () => my.counts());
  await my.close();
  const queue = postgresQueue(`postgres://ann:${SECRET}@${UNREACHABLE}/shop`);
  const job = { executionId: "1", runAt: new Date(0), queue: "default", priority: 0 };
  await assertHidden("the queue", () => queue.enqueue([job]));
  await queue.close();
});

Deno.test("an address that is none is refused without being repeated", async () => {
  const broken = [
    `postgres//ann:${SECRET}@host/shop`,
    `postgres://ann:${SECRET}@ho st/shop`,
    `postgres://ann:${SECRET}@host:port/shop`,
    `ann:${SECRET}@host`,
    `mysql://ann:${SECRET}%@host/shop`,
    `mysql://ann:${SECRET}@:99999/shop`,
  ];
  for (const url of broken) {
    const all = { postgres: postgresStore, mysql: mysqlStore };
    for (const [name, open] of Object.entries(all)) {
      await assertHidden(`${name} ${url}`, async () => {
        const store = open(url);
        await store.counts().finally(() => store.close());
      });
    }
  }
});

Deno.test("an address of a queue that is none is refused without being repeated", async () => {
  for (const rest of [`ann:${SECRET}@host:port`, `ann:${SECRET}/more@host`, `${SECRET}@ho st`]) {
    await assertHidden("Redis", () => bullmqQueue(`redis://${rest}`));
    await assertHidden("NATS", () => natsQueue(`nats://${rest}`));
  }
});

Deno.test("a wrong password is not repeated", async () => {
  const [pg, my] = [await postgresServer(), await mysqlServer()];
  const wrong = (url: string): string => {
    const own = new URL(url);
    own.username = "nobody_of_this_name";
    own.password = SECRET;
    return own.href;
  };
  if (pg !== null) {
    const store = postgresStore(wrong(pg.url));
    await assertHidden("PostgreSQL", () => store.counts());
    await store.close();
  }
  if (my !== null) {
    const store = mysqlStore(wrong(`${my.url}/shop`));
    await assertHidden("MySQL", () => store.counts());
    await store.close();
  }
});

Deno.test("log lines of an engine without its database hold no password", async () => {
  const logger = recordingLogger();
  const store = postgresStore(`postgres://ann:${SECRET}@${UNREACHABLE}/shop`);
  const idle = workflow({ name: "idle", steps: [] });
  const engine = createEngine({ store, workflows: [idle], logger, pollMs: 10 });
  const worker = engine.work();
  await worker.idle();
  await worker.stop();
  await engine.close();
  const shown = Deno.inspect(logger.lines, { depth: 10 });
  assert.ok(logger.lines.length > 0);
  assert.equal(shown.includes(SECRET), false, shown);
});

Deno.test("masked() hides the passwords of all URLs in a text", () => {
  const text = `postgres://ann:${SECRET}@h/a and mysql://b:${SECRET}@h?password=${SECRET}&x=1`;
  assert.equal(masked(text).includes(SECRET), false);
  assert.match(masked(text), /postgres:\/\/ann:\*\*\*@h\/a/);
});
