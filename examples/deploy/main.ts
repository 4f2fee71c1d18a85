/**
 * Makes some requests to the application of `app.ts`, on a port of its own, and prints the answers.
 *
 * `deno run -A examples/deploy/main.ts`
 *
 * @module
 */

import app, { engine, shutDown } from "./app.ts";

const server = Deno.serve({ port: 0, onListen: () => {} }, app.fetch);
const finished = new Promise<void>((resolve) => {
  engine.events.on("finalize", ({ workflowState }) => {
    if (workflowState === "finished") resolve();
  });
});

await call("POST", "/greetings?name=Ada");
await finished;
await call("GET", "/greetings/1");
await call("GET", "/greetings/2");

await server.shutdown();
await shutDown();

async function call(method: string, path: string): Promise<void> {
  const response = await fetch(`http://localhost:${server.addr.port}${path}`, { method });
  console.log(`${method} ${path}: ${response.status} ${await response.text()}`);
}

/* It prints:

POST /greetings?name=Ada: 201 {"id":"1"}
GET /greetings/1: 200 {"state":"finished","said":["hello, Ada","hello again, Ada"]}
GET /greetings/2: 404 {"error":"not found"}
*/
