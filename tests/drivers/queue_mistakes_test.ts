/** Mistakes with a queue's server: whoever makes one is told what it is. */

import assert from "node:assert/strict";
import { connect, wsconnect } from "@nats-io/transport-node";
import { createEngine, type QueueDriver, systemClock, workflow } from "../../mod.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import { natsQueue } from "../../drivers/queues/nats.ts";
import { freePort } from "../_start_servers.ts";
import { recordingLogger, until } from "../run/_doubles.ts";
import { CAN_START_NATS, freshNats, HAS_NATS, ownNats } from "./_nats.ts";
import { QUEUE_KINDS } from "./_queue_kinds.ts";
import { job, listenTo } from "./_queue_trials.ts";

const order = workflow({ name: "order", steps: [{ name: "pay", run: () => {} }] });

/** What a worker logs, and a start after it, on a queue that cannot work. */
async function saidOf(queue: QueueDriver): Promise<Record<"worker" | "start", string>> {
  const logger = recordingLogger();
  const engine = createEngine({ store: memoryStore(), queue, workflows: [order], logger });
  const worker = engine.work();
  const said = (message: RegExp): string | undefined => {
    const line = logger.lines.find((one) => message.test(one.message));
    return line && String(line.fields.error);
  };
  await until(() => said(/cannot be listened to yet/) !== undefined, { looks: 10_000 });
  await engine.start(order);
  await worker.stop();
  await engine.close();
  return {
    worker: said(/cannot be listened to yet/) ?? "",
    start: said(/could not be told/) ?? "",
  };
}

for (const kind of QUEUE_KINDS) {
  Deno.test({
    name: `${kind.name}: a server that lets us not in is known by a worker's log and a start's`,
    ignore: !kind.canStart,
    async fn() {
      await using server = await kind.guarded();
      const { worker, start } = await saidOf(kind.openAt(server.address));
      const { name, refusal } = kind;
      assert.ok(
        worker.includes(`[${name}] ${kind.server} is away; it is listened to when`),
        worker,
      );
      assert.match(worker, refusal);
      assert.ok(start.includes(`[${name}] ${kind.server} is away; it is told when it is`), start);
      assert.match(start, refusal);
    },
  });

  Deno.test({
    name: `${kind.name}: a listener is told once of a server that is not there, and goes on`,
    ignore: !kind.canStart,
    async fn() {
      await using server = await kind.own();
      await server.kill();
      const queue = kind.openAt(server.address);
      const stopping = new AbortController();
      const troubles: Error[] = [];
      const came: string[] = [];
      const ended = queue.listen((jobs) => {
        came.push(...jobs.map(({ executionId }) => executionId));
        return Promise.resolve();
      }, {
        signal: stopping.signal,
        clock: systemClock,
        pollMs: 20,
        onTrouble: (error) => void troubles.push(error),
      });
      await until(() => troubles.length > 0, { looks: 10_000 });
      assert.match(String(troubles[0]), /is away; it is listened to when it is back: .*refused/i);
      await server.start();
      await queue.enqueue([job("1")]).catch(() => {});
      await until(() => came.length > 0, { looks: 10_000 });
      assert.equal(troubles.length, 1);
      stopping.abort();
      await ended;
      await queue.close();
    },
  });
}

Deno.test({
  name: "a NATS without JetStream says so, to a worker and to a start",
  ignore: !CAN_START_NATS,
  async fn() {
    await using server = await ownNats("");
    const { worker, start } = await saidOf(natsQueue(`nats://${server.address}`));
    assert.match(worker, /\[nats\] NATS cannot be listened to yet: jetstream is not enabled/);
    assert.match(start, /\[nats\] NATS could not be told: jetstream is not enabled/);
  },
});

Deno.test({
  name: "a password of NATS that is changed while we are connected does not end the process",
  ignore: !CAN_START_NATS,
  async fn() {
    const open = "jetstream: enabled";
    await using server = await ownNats(open);
    const errors: Error[] = [];
    const connection = await connect({
      servers: server.address,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 20,
    });
    const queue = natsQueue(connection, { onError: (error) => void errors.push(error) });
    const { stop } = listenTo(queue);
    await queue.enqueue([job("1")]);
    await server.restart({ "nats.conf": `${open}\nauthorization: { user: me, password: secret }` });
    await until(() => errors.some((error) => /Authorization/.test(error.message)), {
      looks: 10_000,
    });
    await stop();
    await queue.close();
    await connection.close();
  },
});

Deno.test({
  name: "an address of NATS may name several servers, of which one is there",
  ignore: !HAS_NATS,
  async fn() {
    await using nats = await freshNats();
    const there = new URL(nats.url).host;
    for (const address of [`nats://127.0.0.1:1,nats://${there}`, `nats://${there}, 127.0.0.1:1`]) {
      const queue = natsQueue(address, { stream: nats.stream });
      const { came, stop } = listenTo(queue);
      await queue.enqueue([job(address)]);
      await until(() => came.length > 0);
      await stop();
      await queue.close();
    }
  },
});

Deno.test({
  name: "a connection to NATS by WebSocket is one, too",
  ignore: !CAN_START_NATS,
  async fn() {
    const port = freePort();
    await using server = await ownNats(
      `jetstream: enabled\nwebsocket: { listen: "127.0.0.1:${port}", no_tls: true }`,
    );
    assert.notEqual(server.address, `127.0.0.1:${port}`);
    const connection = await wsconnect({ servers: `ws://127.0.0.1:${port}` });
    const queue = natsQueue(connection);
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1")]);
    await until(() => came.length > 0);
    await stop();
    await queue.close();
    await connection.close();
  },
});
