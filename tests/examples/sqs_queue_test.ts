/** The queue of docs/drivers.md is no sketch: it passes what every queue passes. */

import assert from "node:assert/strict";
import { registerQueueCases } from "../../src/testing/conformance.ts";
import { createFakeClock } from "../../src/testing/fake_clock.ts";
import { fakeSqs } from "../../examples/_fake_sqs.ts";
import { sqsQueue } from "../../examples/sqs_queue.ts";

const NAMES = ["default", "mail", "slow", "slower", "größe 🐢"];
const urls = Object.fromEntries(NAMES.map((name, at) => [name, `https://sqs.example/${at}`]));

registerQueueCases("sqs", {
  open() {
    const clock = createFakeClock();
    const sqs = fakeSqs({ clock, urls: Object.values(urls) });
    return { queue: sqsQueue(sqs, { urls, clock }), clock, advance: (ms) => clock.tick(ms) };
  },
}, (name, run, skip) => Deno.test({ name, fn: run, ignore: skip !== null }));

Deno.test("docs/drivers.md shows the driver as it is in examples/sqs_queue.ts", async () => {
  const read = (path: string): Promise<string> =>
    Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
  const source = await read("examples/sqs_queue.ts");
  const driver = /\/\/ The driver begins here\.\n([\s\S]+)\/\/ The driver ends here\./.exec(source);
  assert.ok((await read("docs/drivers.md")).includes(`\n${driver?.[1]}\`\`\`\n`));
});
