/**
 * Delivering jobs from a stream: a durable consumer for each lane, shared by all processes.
 *
 * @module
 */

import type { ConsumerMessages, JsMsg } from "@nats-io/jetstream";
import { StoreError } from "../../../src/errors.ts";
import { wait } from "../../../src/seams/clock.ts";
import type { JobHandler, ListenOptions } from "../../../src/seams/queue.ts";
import { createHandOver } from "../hand_over.ts";
import { serveLanes } from "../lanes.ts";
import { aborted } from "../patience.ts";
import { jobIn } from "./announce.ts";
import { type Kind, KINDS, laneOf, type Place } from "./place.ts";

/** How long the server keeps a request for jobs; also how soon one notices that it has gone. */
const REQUEST_MS = 5_000;

/** Delivers jobs until the signal is aborted. */
export async function deliver(
  place: Place,
  handler: JobHandler,
  how: ListenOptions,
): Promise<void> {
  const { signal, clock, pollMs } = how;
  const handOver = createHandOver(handler);
  const over = aborted(signal);
  const lanes = new Map<string, Promise<unknown>>();

  /** Hands over what a message says, at its time. */
  async function take(message: JsMsg): Promise<void> {
    const job = jobIn(message.string());
    if (job === null) return message.term();
    if (signal.aborted) return message.nak();
    const earlyMs = job.runAt.getTime() - clock.now();
    if (earlyMs > 0) return message.nak(earlyMs);
    await handOver.take(job);
    message.ack();
  }

  async function takeAll(messages: ConsumerMessages): Promise<void> {
    const underWay = new Set<Promise<void>>();
    // What has arrived already is still passed on, so that it can be given back.
    void over.then(() => messages.stop());
    for await (const message of messages) {
      const taking = take(message).finally(() => void underWay.delete(taking));
      underWay.add(taking);
      if (underWay.size >= place.batchSize) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  }

  /** Takes what comes in a lane, and begins again whenever the server or the stream has gone. */
  async function follow(lane: string, kind: Kind): Promise<void> {
    while (!signal.aborted) {
      try {
        const consumer = await Promise.race([place.consumer(lane, kind), over]);
        if (consumer === undefined) return;
        await takeAll(
          await consumer.consume({
            max_messages: place.batchSize,
            expires: REQUEST_MS,
            abort_on_missing_resource: true,
          }),
        );
      } catch (error) {
        place.onError(error as Error);
        place.doubt();
        await wait(clock, pollMs, signal);
      }
    }
  }

  function serve(lane: string): void {
    if (lanes.has(lane) || signal.aborted) return;
    lanes.set(lane, Promise.all(KINDS.map((kind) => follow(lane, kind))));
  }

  await ready(place, over, how);
  await serveLanes({ laneOf, all: place.lanes, curious: place.curious }, serve, how);
  await Promise.all(lanes.values());
  await handOver.idle();
}

/** Waits for the stream. One that is meant for something else is nothing that passes. */
async function ready(
  place: Place,
  over: Promise<void>,
  { signal, clock, pollMs }: ListenOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return void await Promise.race([place.publisher(), over]);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      place.onError(error as Error);
      await wait(clock, pollMs, signal);
    }
  }
}
