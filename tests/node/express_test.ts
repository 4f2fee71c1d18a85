/**
 * The shop of `examples/express`, as somebody runs it who has Node and the npm package: driven by
 * HTTP, killed in the middle, started again, and stopped.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Project, sharedProject } from "./_project.ts";
import { COMPILERS, hasNpm, NODES, type Runtime } from "./_tools.ts";

const npmIsHere = await hasNpm();
const theProject = sharedProject();
const LIMIT_MS = 20_000;

/** A shop that is up. */
interface Shop extends AsyncDisposable {
  /** Calls it, and gives the status and the body. */
  call(method: string, path: string, body?: unknown): Promise<[number, unknown]>;
  /** Calls until a field of the answer has a value. */
  until(path: string, field: string, value: unknown): Promise<void>;
  /** Ends it by a signal, and gives its exit code. */
  end(signal: Deno.Signal): Promise<number>;
}

/** Copies the shop into the project, as its first lines say. */
async function copyShop(project: Project): Promise<void> {
  const source = new URL("../../examples/express/app.ts", import.meta.url);
  await Deno.copyFile(source, join(project.folder, "app.ts"));
}

async function open(project: Project, runtime: Runtime, database: string): Promise<Shop> {
  const child = new Deno.Command(project.programOf(runtime), {
    args: ["app.ts"],
    cwd: project.folder,
    env: { DATABASE: database, PORT: "0", NODE_NO_WARNINGS: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const address = (await lines.read()).value?.trim() ?? "";
  let ended = false;
  async function end(signal: Deno.Signal): Promise<number> {
    if (!ended) child.kill(signal);
    ended = true;
    await lines.cancel();
    return (await child.status).code;
  }
  const shop: Shop = {
    async call(method, path, body) {
      const response = await fetch(address + path, {
        method,
        headers: { "Content-Type": "application/json", "Connection": "close" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
      return [response.status, isJson ? JSON.parse(text) : text];
    },
    async until(path, field, value) {
      const deadline = performance.now() + LIMIT_MS;
      while (true) {
        const [, answer] = await shop.call("GET", path);
        if ((answer as Record<string, unknown>)[field] === value) return;
        assert.ok(performance.now() < deadline, `${path}: ${JSON.stringify(answer)}`);
      }
    },
    end,
    [Symbol.asyncDispose]: async () => void await end("SIGKILL"),
  };
  return shop;
}

Deno.test({
  name: "the shop with Express compiles against the package",
  ignore: !npmIsHere,
  async fn() {
    const project = await theProject();
    await copyShop(project);
    for (const compiler of COMPILERS) {
      const { code, output } = await project.compile(compiler, [
        ...["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "app.ts"],
      ]);
      assert.equal(code, 0, `${compiler}: ${output}`);
    }
  },
});

for (const runtime of NODES) {
  Deno.test({
    name: `an order of the shop with Express outlives its process in ${runtime.name}`,
    ignore: !npmIsHere,
    async fn() {
      const project = await theProject();
      await copyShop(project);
      const database = await Deno.makeTempFile({ dir: project.folder, suffix: ".db" });
      const webhook = { order: "1", event: "evt_1" };
      {
        await using shop = await open(project, runtime, database);
        assert.deepEqual(await shop.call("POST", "/orders", { item: "a lamp" }), [201, {
          order: "1",
        }]);
        assert.deepEqual(await shop.call("GET", "/orders/1"), [200, {
          id: 1,
          item: "a lamp",
          status: "new",
          workflow: "ready",
          next: "await_payment",
        }]);
        const [status, page] = await shop.call("GET", "/ops/workflows");
        assert.equal(status, 200);
        assert.match(String(page), /fulfilment/);
        await shop.end("SIGKILL"); // no goodbye
      }
      await using shop = await open(project, runtime, database);
      assert.deepEqual(await shop.call("POST", "/webhooks/payment", webhook), [202, "Accepted"]);
      await shop.until("/orders/1", "status", "shipped");
      await shop.until("/orders/1", "next", "ask_for_a_review");
      // The provider sends it again.
      assert.deepEqual(await shop.call("POST", "/webhooks/payment", webhook), [202, "Accepted"]);
      const stranger = { order: "2", event: "evt_2" };
      assert.deepEqual(await shop.call("POST", "/webhooks/payment", stranger), [404, {
        error: "no such order",
      }]);
      assert.equal(await shop.end("SIGTERM"), 0);
    },
  });
}
