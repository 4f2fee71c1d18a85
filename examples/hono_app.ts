/**
 * A web application with Hono: a request writes its own row and starts a workflow in one
 * transaction, so that there is never one without the other.
 *
 * `deno run -A examples/hono_app.ts` makes some requests and prints the answers;
 * `deno run -A examples/hono_app.ts --serve` listens on port 8000.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { Hono } from "hono";
import { createEngine, hero, InvalidStateError, workflow } from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";

interface Member {
  readonly id: number;
  readonly mail: string;
}

const db = new DatabaseSync(":memory:");
db.exec("CREATE TABLE members (id INTEGER PRIMARY KEY, mail TEXT UNIQUE, admitted INTEGER)");

/** What stands for a mail server. */
const outbox: string[] = [];

const members = hero("Member", {
  load: (id) => db.prepare("SELECT * FROM members WHERE id = ?").get(id) as Member | undefined,
  idOf: (member: Member) => member.id,
});

const admission = workflow({
  name: "admission",
  hero: members,
  steps: [
    { name: "ask_the_board", run: ({ hero }) => void outbox.push(`board: ${hero.mail}?`) },
    {
      name: "admit",
      waitFor: "vote",
      timeout: "30 days",
      onTimeout: "cancel",
      transaction: true,
      run({ hero, event, tx }) {
        const admitted = event.payload.yes ? 1 : 0;
        tx.prepare("UPDATE members SET admitted = ? WHERE id = ?").run(admitted, hero.id);
      },
    },
    { name: "tell", run: ({ hero }) => void outbox.push(`${hero.mail}: the vote is in`) },
  ],
});

// The store uses the application's own connection: one database, one transaction.
const engine = createEngine({ store: sqliteStore(db), workflows: [admission] });
await engine.migrate();

const app = new Hono();

app.post("/members", async (c) => {
  const { mail } = await c.req.json<{ mail: string }>();
  const run = await engine.transaction(async (tx: DatabaseSync) => {
    const insert = tx.prepare("INSERT INTO members (mail) VALUES (?) RETURNING id");
    const { id } = insert.get(mail) as { id: number };
    return await engine.start(admission, { hero: id, tx });
  });
  return c.json({ workflow: run.id, state: run.state }, 201);
});

app.get("/admissions/:id", async (c) => {
  const run = await engine.find(c.req.param("id"));
  if (run === null) return c.json({ error: "no such admission" }, 404);
  return c.json({ state: run.state, step: run.nextStepName });
});

app.post("/admissions/:id/vote", async (c) => {
  const run = await engine.find(c.req.param("id"));
  if (run === null) return c.json({ error: "no such admission" }, 404);
  // A browser that sends its form twice votes once.
  const idempotencyKey = c.req.header("Idempotency-Key");
  await run.signal("vote", await c.req.json(), idempotencyKey ? { idempotencyKey } : {});
  return c.json({ accepted: true }, 202);
});

app.onError((error, c) => {
  // What Pawl refuses is the caller's business; what it did not expect is not.
  if (error instanceof InvalidStateError) return c.json({ error: error.message }, 409);
  if (/UNIQUE/.test(error.message)) return c.json({ error: "already a member" }, 409);
  throw error;
});

/** Makes requests as a browser would, and prints what comes back. */
async function main(): Promise<void> {
  const worker = engine.work();
  const request = async (method: string, path: string, body?: unknown): Promise<void> => {
    const response = await app.request(path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    console.log(`${method} ${path}: ${response.status} ${await response.text()}`);
    await worker.idle();
    for (const mail of outbox.splice(0)) console.log(`  mail to ${mail}`);
  };
  await request("POST", "/members", { mail: "ada@example.com" });
  await request("GET", "/admissions/1");
  // The row cannot be written, so the workflow is not started either.
  await request("POST", "/members", { mail: "ada@example.com" });
  console.log(`  workflows in the database: ${(await engine.list()).items.length}`);
  await request("POST", "/admissions/1/vote", { yes: true });
  await request("GET", "/admissions/1");
  await request("POST", "/admissions/1/vote", { yes: false });
  await request("GET", "/admissions/2");
  await worker.stop();
  await engine.close();
}

if (import.meta.main && Deno.args.includes("--serve")) {
  const worker = engine.work();
  const server = Deno.serve(app.fetch);
  Deno.addSignalListener("SIGTERM", async () => {
    await worker.stop();
    await server.shutdown();
    await engine.close();
  });
} else if (import.meta.main) await main();

/* It prints:

POST /members: 201 {"workflow":"1","state":"ready"}
  mail to board: ada@example.com?
GET /admissions/1: 200 {"state":"ready","step":"admit"}
POST /members: 409 {"error":"already a member"}
  workflows in the database: 1
POST /admissions/1/vote: 202 {"accepted":true}
  mail to ada@example.com: the vote is in
GET /admissions/1: 200 {"state":"finished","step":null}
POST /admissions/1/vote: 409 {"error":"Cannot signal \"vote\" to a finished workflow: it has ended for good"}
GET /admissions/2: 404 {"error":"no such admission"}
*/
