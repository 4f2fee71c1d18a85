/**
 * A shop with Express, in Node: an order and its workflow are one transaction, the payment provider
 * calls a webhook that is a signal, the worker runs in the same process, and the dashboard is mounted
 * beside it.
 *
 * In a folder with a copy of this file, and Node 22.18 or newer, which reads TypeScript by itself:
 *
 *     npm init -y && npm pkg set type=module
 *     npm install @pawl/pawl express
 *     node app.ts
 *
 * `DATABASE` names the SQLite file, `PORT` the port. Stop it whenever you like and start it again: an
 * order that waits for its payment goes on waiting.
 *
 * @module
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { createEngine, hero, workflow } from "@pawl/pawl";
import { dashboard, toNodeListener } from "@pawl/pawl/dashboard";
import { sqliteStore } from "@pawl/pawl/sqlite";
// @ts-types="@types/express"
import express from "express";

interface Order {
  readonly id: number;
  readonly item: string;
  readonly status: string;
}

const db = new DatabaseSync(process.env.DATABASE ?? "shop.db");
db.exec("PRAGMA journal_mode = WAL");
db.exec("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT, status TEXT)");

function findOrder(id: string): Order | undefined {
  return db.prepare("SELECT * FROM orders WHERE id = ?").get(id) as Order | undefined;
}

function setStatus(database: DatabaseSync, id: number, status: string): void {
  database.prepare("UPDATE orders SET status = ? WHERE id = ?").run(status, id);
}

const fulfilment = workflow({
  name: "fulfilment",
  hero: hero("Order", { load: findOrder }),
  steps: [
    {
      name: "await_payment",
      waitFor: "paid",
      timeout: "3 days",
      onTimeout: "cancel",
      transaction: true, // the status and the end of this step are one commit
      run: ({ hero, tx }) => setStatus(tx, hero.id, "paid"),
    },
    { name: "ship", run: ({ hero }) => setStatus(db, hero.id, "shipped") },
    { name: "ask_for_a_review", wait: "1 week", run: () => {} },
  ],
});

const engine = createEngine({ store: sqliteStore(db), workflows: [fulfilment] });
await engine.migrate();
const worker = engine.work();

const app = express();
const operations = dashboard(engine, { basePath: "/ops" }); // for this machine only, and only to look
app.use("/ops", toNodeListener(operations)); // before what reads bodies: it reads its own
app.use(express.json());

app.post("/orders", async (request, response) => {
  const { item } = request.body as { item: string };
  const run = await engine.transaction(async (tx: DatabaseSync) => {
    const insert = tx.prepare("INSERT INTO orders (item, status) VALUES (?, 'new') RETURNING id");
    const { id } = insert.get(item) as { id: number };
    return await engine.start(fulfilment, { hero: id, tx });
  });
  response.status(201).json({ order: run.heroId });
});

app.get("/orders/:id", async (request, response) => {
  const order = findOrder(request.params.id);
  if (order === undefined) return void response.status(404).json({ error: "no such order" });
  const { items: [run] } = await engine.list({ workflow: fulfilment, hero: order.id });
  response.json({ ...order, workflow: run?.state, next: run?.nextStepName });
});

app.post("/webhooks/payment", async (request, response) => {
  const { order, event } = request.body as { order: string; event: string };
  const { items: [run] } = await engine.list({ workflow: fulfilment, hero: order });
  if (run === undefined) return void response.status(404).json({ error: "no such order" });
  // Providers send their events more than once; the key makes one signal of them.
  await run.signal("paid", { event }, { idempotencyKey: event });
  response.sendStatus(202);
});

const server = createServer(app);
server.listen(Number(process.env.PORT ?? 8000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  operations.close(); // first: a server does not close while its streams are open
  server.close();
  server.closeIdleConnections();
  await worker.stop();
  await engine.close();
  db.close();
});
