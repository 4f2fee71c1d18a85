/**
 * The entry for NATS as TypeScript sees it. The declarations of its client do not compile with
 * `exactOptionalPropertyTypes`, so it is by itself.
 */

import type { QueueDriver } from "@pawl/pawl";
import { natsQueue } from "@pawl/pawl/nats";
import { connect } from "@nats-io/transport-node";

/** What it takes. */
export const queues: readonly QueueDriver[] = [
  natsQueue("nats://localhost", { stream: "app" }),
  natsQueue({ servers: "localhost" }),
  natsQueue(await connect()),
];

// @ts-expect-error -- not a connection
natsQueue(42);
