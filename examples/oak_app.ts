/**
 * A library with Oak: lending a book writes the loan and starts its workflow in one transaction, and
 * bringing it back writes that and sends a signal in another. Weeks pass between the two requests.
 *
 * `deno run -A examples/oak_app.ts` makes some requests, lets days pass, and prints the answers.
 *
 * The import is Oak's package on npm. On JSR it is called `@oak/oak`, and newer; what is used of it
 * here is the same in both. The one on npm says when it is imported that its `send()` does not work
 * under Node.js, in Deno too; nothing here uses it.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { Application, isHttpError, Router } from "@oakserver/oak";
import { type Engine, hero, InvalidStateError, workflow } from "@pawl/pawl";
import { sqliteStore } from "@pawl/pawl/sqlite";
import { say, stage } from "./_story.ts";

interface Loan {
  readonly id: number;
  readonly book: string;
  readonly reader: string;
  readonly returned: number;
}

const db = new DatabaseSync(":memory:");
db.exec(`
  CREATE TABLE loans (id INTEGER PRIMARY KEY, book TEXT, reader TEXT, returned INTEGER DEFAULT 0);
  CREATE UNIQUE INDEX one_reader_at_a_time ON loans (book) WHERE returned = 0;
`);

const loans = hero("Loan", {
  load: (id) => db.prepare("SELECT * FROM loans WHERE id = ?").get(id) as Loan | undefined,
});

const lending = workflow({
  name: "lending",
  hero: loans,
  steps: [
    {
      name: "remind",
      wait: "3 weeks",
      skipIf: ({ hero }) => hero.returned === 1,
      run: ({ hero }) => say(`mail to ${hero.reader}: "${hero.book}" is due in a week`),
    },
    {
      name: "take_back",
      waitFor: "returned",
      timeout: "1 week",
      // Nobody came: a mail every week, until somebody does.
      onTimeout({ hero, attempt, reattempt }) {
        say(`mail to ${hero.reader}: "${hero.book}" is overdue, reminder ${attempt}`);
        reattempt();
      },
      run: ({ hero }) => say(`mail to ${hero.reader}: thank you for "${hero.book}"`),
    },
  ],
});

/** The application; the engine is given to it, so that a test can give it one with a fake clock. */
function library(engine: Engine): Application {
  const router = new Router();

  router.post("/loans", async ({ request, response, throw: fail }) => {
    const { book, reader } = await request.body.json() as Loan;
    const run = await engine.transaction(async (tx: DatabaseSync) => {
      const insert = tx.prepare("INSERT INTO loans (book, reader) VALUES (?, ?) RETURNING id");
      const { id } = insert.get(book, reader) as { id: number };
      return await engine.start(lending, { hero: id, tx });
    }).catch((error) => {
      if (/UNIQUE/.test(error.message)) fail(409, `${book} is lent already`);
      throw error;
    });
    response.status = 201;
    response.body = { loan: run.heroId, state: run.state };
  });

  router.put("/loans/:id/returned", async ({ params, response, throw: fail }) => {
    // The web knows loans, not workflows: the hero leads from one to the other.
    const { items: [run] } = await engine.list({ workflow: lending, hero: params.id });
    if (run === undefined) return fail(404, "there is no such loan");
    await engine.transaction(async (tx: DatabaseSync) => {
      tx.prepare("UPDATE loans SET returned = 1 WHERE id = ?").run(run.heroId);
      await run.signal("returned", null, { tx, idempotencyKey: "returned" });
    });
    response.status = 202;
    response.body = { accepted: true };
  });

  const app = new Application();
  app.use(async ({ response }, next) => {
    try {
      await next();
    } catch (error) {
      const refused = error instanceof InvalidStateError;
      if (!refused && !isHttpError(error)) throw error;
      response.status = refused ? 409 : error.status;
      response.body = { error: error.message };
    }
  });
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}

/** Makes requests as a browser would, and lets days pass in between. */
async function main(): Promise<void> {
  await using t = await stage({ store: sqliteStore(db), workflows: [lending] });
  const app = library(t.engine);
  type OakRequest = Parameters<typeof app.handle>[0];
  // In earnest this is `Deno.serve((request) => app.handle(request))`, or `app.listen()`.
  const call = async (method: string, path: string, body?: object): Promise<void> => {
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const response = await app.handle(request as unknown as OakRequest);
    say(`${method} ${path}: ${response?.status} ${await response?.text()}`);
  };
  await call("POST", "/loans", { book: "Emma", reader: "ann" });
  await call("POST", "/loans", { book: "Emma", reader: "bob" });
  await t.clock.tick("36 days");
  await call("PUT", "/loans/1/returned");
  await call("PUT", "/loans/1/returned"); // the button was pressed twice
  await t.clock.tick("1 minute");
  await call("POST", "/loans", { book: "Emma", reader: "bob" });
  await call("PUT", "/loans/2/returned"); // he did not like it: the signal waits for its step
  await t.clock.tick("3 weeks");
  await call("PUT", "/loans/7/returned");
  for (const { state, count } of await t.engine.counts()) say(`${count} ${state}`);
}

if (import.meta.main) await main();

/* It prints:

day 0 09:00:00 | POST /loans: 201 {"loan":"1","state":"ready"}
day 0 09:00:00 | POST /loans: 409 {"error":"Emma is lent already"}
day 21 09:00:00 | mail to ann: "Emma" is due in a week
day 28 09:00:00 | mail to ann: "Emma" is overdue, reminder 1
day 35 09:00:00 | mail to ann: "Emma" is overdue, reminder 2
day 36 09:00:00 | PUT /loans/1/returned: 202 {"accepted":true}
day 36 09:00:00 | PUT /loans/1/returned: 202 {"accepted":true}
day 36 09:00:00 | mail to ann: thank you for "Emma"
day 36 09:01:00 | POST /loans: 201 {"loan":"2","state":"ready"}
day 36 09:01:00 | PUT /loans/2/returned: 202 {"accepted":true}
day 57 09:01:00 | mail to bob: thank you for "Emma"
day 57 09:01:00 | PUT /loans/7/returned: 404 {"error":"there is no such loan"}
day 57 09:01:00 | 2 finished
*/
