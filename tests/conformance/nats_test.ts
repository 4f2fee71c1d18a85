/** NATS runs the cases of all queues on a real server; what only it promises is tested elsewhere. */

import { registerQueueCases } from "../../src/testing/conformance.ts";
import { HAS_NATS, natsBench } from "../drivers/_nats.ts";

registerQueueCases("NATS", { open: () => natsBench() }, (name, fn, skip) => {
  Deno.test({ name, fn, ignore: skip !== null || !HAS_NATS });
});
