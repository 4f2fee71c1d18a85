/** What only the queue on NATS promises: lanes, streams, waits, connections. */

import assert from "node:assert/strict";
import type { EventEmitter } from "node:events";
import { jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { natsQueue, type NatsQueueOptions } from "../../drivers/queues/nats.ts";
import { laneOf } from "../../drivers/queues/nats/place.ts";
import { until } from "../run/_doubles.ts";
import { freshNats, HAS_NATS, onNats } from "./_nats.ts";
import { HOUR_MS, ids, job, listenTo } from "./_queue_trials.ts";

const ignore = !HAS_NATS;

Deno.test({
  name: "U10 a long wait is delivered once before its time, not again and again",
  ignore,
  async fn() {
    await using nats = await freshNats();
    const queue = natsQueue(nats.url, { stream: nats.stream, holdMs: 100 });
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1", { runAt: new Date(Date.now() + 90 * 24 * HOUR_MS) })]);
    await queue.enqueue([job("2", { runAt: new Date(Date.now() + 500) })]);
    await until(() => came.length === 1);
    const info = await onNats(nats.url, async (connection) => {
      const manager = await jetstreamManager(connection);
      return await manager.consumers.info(nats.stream, "default_later");
    });
    // Both came to be refused with their delays, and the second one at its time.
    assert.equal(info.delivered.consumer_seq, 3);
    assert.deepEqual(ids(came), ["2"]);
    await stop();
    await queue.close();
  },
});

Deno.test("a lane is a token that NATS takes for a subject and for the name of a consumer", () => {
  const queues = [
    "mail",
    "a.b",
    "a b",
    "*",
    ">",
    "%",
    "=",
    "=25",
    "~",
    "ü",
    "🐢".repeat(64),
    "A",
    "a",
  ];
  const lanes = queues.map(laneOf);
  assert.equal(new Set(lanes).size, queues.length);
  for (const lane of lanes) assert.match(lane, /^[A-Za-z0-9_=~-]{1,120}$/);
  assert.equal(lanes[0], "mail");
});

Deno.test({
  name: "a message that is no job is dropped, and a stream for something else is refused",
  ignore,
  async fn() {
    await using nats = await freshNats();
    const { stream } = nats;
    const queue = natsQueue(nats.url, { stream });
    await queue.enqueue([job("1")]);
    await onNats(nats.url, async (connection) => {
      const manager = await jetstreamManager(connection);
      for (const text of ["hello", "{}", '{"executionId":"9","runAt":"never"}']) {
        await manager.jetstream().publish(`${stream}.default.now`, text);
      }
    });
    await queue.enqueue([job("2")]);
    const { came, stop } = listenTo(queue);
    await until(() => came.length === 2);
    assert.deepEqual(ids(came), ["1", "2"]);
    await stop();
    await queue.close();
    const left = await onNats(nats.url, async (connection) => {
      const manager = await jetstreamManager(connection);
      const { state } = await manager.streams.info(stream);
      await manager.streams.delete(stream);
      await manager.streams.add({
        name: stream,
        subjects: [`${stream}.>`],
        retention: RetentionPolicy.Limits,
      });
      return state.messages;
    });
    assert.equal(left, 0);
    const other = natsQueue(nats.url, { stream });
    const refusal = /\[nats\] .*Cannot use stream "pawl_test_\w+": it must have the subjects/;
    await assert.rejects(other.enqueue([job("3")]), refusal);
    const { signal } = new AbortController();
    const clock = { now: Date.now, setTimeout, clearTimeout };
    await assert.rejects(
      other.listen(() => Promise.resolve(), { signal, clock, pollMs: 20 }),
      refusal,
    );
    await other.close();
  },
});

Deno.test({
  name: "a connection of the application stays open, and options of the client are enough",
  ignore,
  async fn() {
    await using nats = await freshNats();
    const { stream } = nats;
    const servers = new URL(nats.url).host;
    const connection = await connect({ servers });
    const queue = natsQueue(connection, { stream });
    const { came, stop } = listenTo(queue);
    await queue.enqueue([job("1")]);
    await until(() => came.length > 0);
    await stop();
    await queue.close();
    assert.equal(connection.isClosed(), false);
    await connection.flush();
    await connection.close();
    const ended = natsQueue(connection, { stream });
    await assert.rejects(ended.enqueue([job("1")]), /NATS could not be told: the connection is cl/);
    const other = natsQueue({ servers }, { stream });
    await other.enqueue([job("2")]);
    await other.close();
    await assert.rejects(other.enqueue([job("3")]), /\[nats\] Cannot use the queue: it is closed/);
  },
});

Deno.test({
  name: "a write that fails after its connection has closed does not end the process",
  ignore,
  async fn() {
    await using nats = await freshNats();
    const connection = await connect({ servers: new URL(nats.url).host });
    const queue = natsQueue(connection, { stream: nats.stream });
    await queue.enqueue([job("1")]);
    const { transport: { socket } } = (connection as unknown as {
      protocol: { transport: { socket: EventEmitter } };
    }).protocol;
    await queue.close();
    await connection.close();
    // What Deno and Node do a moment after a write to a socket that the other side has ended.
    assert.equal(socket.emit("error", new Error("write after end")), true);
  },
});

Deno.test("natsQueue() refuses what is no NATS, and does not repeat a password", () => {
  const refused = (source: unknown, options: unknown, message: RegExp): void => {
    assert.throws(() => natsQueue(source as string, options as NatsQueueOptions), message);
  };
  const address =
    /^InvalidInputError: Cannot use this address: use a nats: or tls: URL, or several/;
  refused("http://me:secret@host", {}, address);
  refused("nats://me:secret@host:port", {}, address);
  refused("nats://me:%zz@host", {}, address);
  refused("nats://host,http://other", {}, address);
  refused(7, {}, /Cannot use 7 as NATS/);
  refused(null, {}, /Cannot use null as NATS/);
  refused("nats://host", { stream: "a.b" }, /Cannot use "a.b" as stream: use letters/);
  refused("nats://host", { replicas: 0 }, /Cannot use 0 as replicas: use a whole number/);
  refused("nats://host", { batchSize: 0.5 }, /Cannot use 0.5 as batchSize/);
  refused("nats://host", { holdMs: "1" }, /Cannot use "1" as holdMs/);
  refused("nats://host", { onError: 1 }, /Cannot use 1 as onError: use a function/);
});
