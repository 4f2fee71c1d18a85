/** A queue's server that is away, restarted or emptied: nothing is lost but time. */

import assert from "node:assert/strict";
import { createEngine, type QueueDriver, workflow } from "../../mod.ts";
import { memoryStore } from "../../drivers/memory/mod.ts";
import type { OwnServer } from "../_own_server.ts";
import { recordingLogger, until } from "../run/_doubles.ts";
import { QUEUE_KINDS, type QueueKind } from "./_queue_kinds.ts";
import { job, journey, listenTo } from "./_queue_trials.ts";

const WORKFLOWS = 100;
/** What may take a moment when the server is away. */
const BOUND_MS = 5_000;

/** A promise, and how it is proved on a server that may be harmed. */
const PROMISES: Readonly<Record<string, (kind: QueueKind, server: OwnServer) => Promise<void>>> = {
  async "HSK-11 workflows survive that the server is emptied in the middle"(kind, { address }) {
    await using work = await journey(() => kind.openAt(address), { workflows: WORKFLOWS });
    await work.halfWay;
    await kind.empty(address);
    await work.arrive();
  },

  async "HSK-11 workflows survive that the server is killed and started again in the middle"(
    kind,
    server,
  ) {
    const open = (): QueueDriver => kind.openAt(server.address);
    await using work = await journey(open, { workflows: WORKFLOWS });
    await work.halfWay;
    await server.restart();
    await work.arrive();
  },

  async "a start neither fails nor hangs while the server is away, and its job is told later"(
    kind,
    server,
  ) {
    await server.kill();
    const ran: string[] = [];
    const definition = workflow({
      name: "order",
      steps: [{ name: "only", run: ({ workflow }) => void ran.push(workflow.id) }],
    });
    const logger = recordingLogger();
    const queue = kind.openAt(server.address);
    const engine = createEngine({ store: memoryStore(), queue, workflows: [definition], logger });
    const worker = engine.work();
    const begin = performance.now();
    const runs = [await engine.start(definition)];
    const firstMs = performance.now() - begin;
    for (let more = 0; more < 20; more++) runs.push(await engine.start(definition));
    const allMs = performance.now() - begin;
    assert.ok(firstMs < 2_000 && allMs < firstMs + 500, `took ${firstMs}, in all ${allMs} ms`);
    const said = logger.lines.find(({ level }) => level === "error");
    assert.match(said?.message ?? "", /The queue could not be told .* the sweep will find them/);
    const reason = `[${kind.name}] ${kind.server} is away; it is told when it is back`;
    assert.ok(String(said?.fields.error).includes(reason), String(said?.fields.error));
    await server.start();
    await until(() => ran.length === runs.length, { looks: 10_000 });
    assert.deepEqual(ran.toSorted(), runs.map(({ id }) => id).toSorted());
    await worker.stop();
    await engine.close();
  },

  async "a queue whose server never was there can be listened to, stopped and closed"(
    kind,
    server,
  ) {
    await server.kill();
    const errors: Error[] = [];
    const queue = kind.openAt(server.address, { onError: (error) => void errors.push(error) });
    const { came, stop } = listenTo(queue, { queues: ["default"] });
    const away = new RegExp(`\\[${kind.name}\\] ${kind.server} is away`);
    await assert.rejects(queue.enqueue([job("1")]), away);
    await assert.rejects(queue.enqueue([job("2")]), away);
    const begin = performance.now();
    await stop();
    await queue.close();
    assert.ok(performance.now() - begin < BOUND_MS);
    assert.deepEqual(came, []);
    assert.ok(errors.some((error) => /refused/i.test(String(error))), String(errors[0]));
  },

  async "a queue whose server goes away can be stopped and closed"(kind, server) {
    const queue = kind.openAt(server.address);
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1"), job("2", { queue: "mail" })]);
    await until(() => came.length === 2);
    await server.kill();
    const begin = performance.now();
    await stop();
    await queue.close();
    assert.ok(performance.now() - begin < BOUND_MS);
  },

  async "a listener goes on after its server was away, with what comes then"(kind, server) {
    const queue = kind.openAt(server.address);
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1")]);
    await until(() => came.length === 1);
    await server.restart();
    await queue.enqueue([job("2"), job("3", { queue: "mail" })]);
    await until(() => came.length >= 3, { looks: 10_000 });
    await stop();
    await queue.close();
  },
};

for (const kind of QUEUE_KINDS) {
  for (const [name, prove] of Object.entries(PROMISES)) {
    Deno.test({
      name: `${kind.name}: ${name}`,
      ignore: !kind.canStart,
      async fn() {
        await using server = await kind.own();
        await prove(kind, server);
      },
    });
  }
}
