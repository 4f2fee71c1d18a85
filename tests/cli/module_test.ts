/**
 * What the command line says of a module that does not load. What Node itself says is tried with a
 * Node in tests/node; here are the words of those that are too old to be tried.
 */

import assert from "node:assert/strict";
import { definitionsIn } from "../../src/cli/module.ts";

Deno.test("a module of TypeScript that an old Node cannot read is explained", async () => {
  const error = Object.assign(new TypeError('Unknown file extension ".ts" for /app/jobs.ts'), {
    code: "ERR_UNKNOWN_FILE_EXTENSION",
  });
  await assert.rejects(definitionsIn("jobs.ts", () => Promise.reject(error)), {
    name: "InvalidInputError",
    message: 'Cannot load the module jobs.ts: Unknown file extension ".ts" for /app/jobs.ts; ' +
      "use Node 22.18 or newer, which reads TypeScript, or name a file of JavaScript",
  });
});
