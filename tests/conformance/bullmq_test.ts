/** BullMQ runs the cases of all queues on a real Redis; what only it promises is tested elsewhere. */

import { registerQueueCases } from "../../src/testing/conformance.ts";
import { bullmqBench, HAS_REDIS } from "../drivers/_redis.ts";

registerQueueCases("BullMQ", { open: () => bullmqBench() }, (name, fn, skip) => {
  Deno.test({ name, fn, ignore: skip !== null || !HAS_REDIS });
});
