/** Queues on NATS for tests: each has a stream of its own, and removes it. */

import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { natsQueue, type NatsQueueOptions } from "../../drivers/queues/nats.ts";
import { systemClock, wait } from "../../src/seams/clock.ts";
import type { CaseQueue } from "../../src/testing/conformance.ts";
import { type OwnServer, ownServer } from "../_own_server.ts";
import { natsHello, natsServer, recordDatabase } from "../_servers.ts";
import { findPrograms } from "../_start_servers.ts";

const server = await natsServer();

/** Whether there is a NATS to test on. */
export const HAS_NATS: boolean = server !== null;

/** Whether one can be started that a test may restart; in CI it must be possible. */
export const CAN_START_NATS: boolean = Deno.env.get("CI") === "true" ||
  HAS_NATS && await findPrograms(["nats-server"]) !== null;

/**
 * A NATS of a test's own; what it was told it has after a restart. It lets everybody in and has
 * JetStream, unless its configuration says otherwise.
 */
export function ownNats(configuration: string = "jetstream: enabled"): Promise<OwnServer> {
  return ownServer({
    program: "nats-server",
    prepare: (folder) => Deno.writeTextFile(`${folder}/nats.conf`, configuration),
    args: (folder, port) => [
      ...["--addr", "127.0.0.1", "--port", String(port), "--store_dir", folder],
      ...["--config", `${folder}/nats.conf`],
    ],
    ask: async (address) => {
      const hello = await natsHello(`nats://${address}`);
      if (!hello.startsWith("INFO")) throw new Error("it is not ready");
    },
  });
}

/** A stream that nobody else uses. */
export interface FreshNats extends AsyncDisposable {
  /** The server's address. */
  readonly url: string;
  /** The stream's name. */
  readonly stream: string;
  /** Removes it. */
  drop(): Promise<void>;
}

/** A stream of one test on the server that all tests share. */
export async function freshNats(): Promise<FreshNats> {
  if (server === null) {
    throw new Error("There is no NATS; skip what needs it when HAS_NATS is false");
  }
  await recordDatabase(`${server.version} (${new URL(server.url).host})`);
  const stream = `pawl_test_${crypto.randomUUID().slice(0, 8)}`;
  const { url } = server;
  const drop = (): Promise<void> => deleteStream(url, stream);
  return { url, stream, drop, [Symbol.asyncDispose]: drop };
}

/** Deletes a stream; one that is not there is as good. */
export function deleteStream(url: string, stream: string): Promise<void> {
  return onNats(url, async (connection) => {
    const manager = await jetstreamManager(connection);
    await manager.streams.delete(stream).catch(() => {});
  });
}

/** Does something on a connection of its own. */
export async function onNats<T>(
  url: string,
  work: (connection: NatsConnection) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers: new URL(url).host });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** An empty queue, on real time: the delays are those of JetStream. */
export async function natsBench(options: NatsQueueOptions = {}): Promise<CaseQueue> {
  const { url, stream, drop } = await freshNats();
  return {
    queue: natsQueue(url, { stream, ...options }),
    clock: systemClock,
    advance: (ms) => wait(systemClock, ms),
    drop,
  };
}
