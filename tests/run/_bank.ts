/** Money that is booked in the database of the workflows themselves. */

import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import {
  type StepContext,
  type TransactionPart,
  workflow,
  type WorkflowDefinition,
} from "../../mod.ts";
import { type TestEngine, testEngine, type TestEngineOptions } from "../../src/testing/mod.ts";

/** The body of a transactional step. */
export type Body = (context: StepContext & TransactionPart) => unknown;

/** A transfer of money that is booked in the database of the workflows themselves. */
export function transfer(body: Body, step: Record<string, unknown> = {}): WorkflowDefinition {
  return workflow({
    name: "transfer",
    steps: [
      { name: "book", transaction: true, ...step, run: body },
      { name: "notify", wait: "1 day", run: () => {} },
    ],
  });
}

/** An engine on a database that also holds the bookings. */
export interface Bank extends AsyncDisposable {
  /** The engine. */
  readonly t: TestEngine;
  /** The amounts that are booked, as everybody can see them. */
  booked(): number[];
}

/** Opens a bank; it is closed with all that is in it. */
export async function bank(
  definition: WorkflowDefinition,
  options: TestEngineOptions = {},
): Promise<Bank> {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE bookings (amount INTEGER NOT NULL)");
  const t = await testEngine({ store: sqliteStore(database), workflows: [definition], ...options });
  return {
    t,
    booked: () =>
      database.prepare("SELECT amount FROM bookings ORDER BY rowid").all().map((row) =>
        Number(row.amount)
      ),
    async [Symbol.asyncDispose]() {
      await t.engine.close();
      database.close();
    },
  };
}

/** Books an amount through the transaction of a step. */
export function book(tx: DatabaseSync, amount: number): void {
  tx.prepare("INSERT INTO bookings (amount) VALUES (?)").run(amount);
}
