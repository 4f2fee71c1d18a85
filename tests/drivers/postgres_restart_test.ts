/** A server that is restarted, or crashes, in the middle of the work of two engines. */

import assert from "node:assert/strict";
import { createEngine, type Engine, workflow } from "../../mod.ts";
import { postgresStore } from "../../drivers/postgres/mod.ts";
import { canStart, ownPostgres, startOwn } from "../_own_servers.ts";
import { postgresServer } from "../_servers.ts";
import { disposable, queryOn } from "./_postgres.ts";

const WORKFLOWS = 200;
const STEPS = ["a", "b", "c", "d", "e"];
/** How long a body takes: some are under way when the server goes down. */
const BODY_MS = 10;
const CAN_START = await canStart(ownPostgres) && await postgresServer() !== null;

for (const mode of ["fast", "crash"] as const) {
  Deno.test({
    name: `EXE-05 HSK-08 two engines survive a restart (${mode}) of the server in the middle of ` +
      `${WORKFLOWS} workflows, and record every step once`,
    ignore: !CAN_START,
    async fn() {
      await using server = await startOwn(ownPostgres);
      await using one = disposable(postgresStore(server.url, { maxConnections: 4 }));
      await using two = disposable(postgresStore(server.url, { maxConnections: 4 }));
      await one.migrate();
      const runs = new Map<string, number>();
      let begun = 0;
      let half = (): void => {};
      const halfWay = new Promise<void>((resolve) => void (half = resolve));
      const journey = workflow({
        name: "journey",
        steps: STEPS.map((name) => ({
          name,
          async run({ workflow: { id } }: { workflow: { id: string } }) {
            const key = `${id} ${name}`;
            runs.set(key, (runs.get(key) ?? 0) + 1);
            if (++begun === WORKFLOWS * STEPS.length / 2) half();
            await new Promise((resolve) => setTimeout(resolve, BODY_MS));
          },
        })),
      });
      const options = { workflows: [journey], leaseMs: 2_000, pollMs: 50 };
      await using engine = createEngine({ ...options, store: one });
      await using second = createEngine({ ...options, store: two });
      await engine.startMany(journey, Array.from({ length: WORKFLOWS }, () => ({})));
      const ended = allEnded([engine, second], server.url);
      await using _first = engine.work({ concurrency: 10 });
      await using _second = second.work({ concurrency: 10 });
      await halfWay;
      await server.restart(mode);
      const left = await queryOn(
        server.url,
        "SELECT 1 FROM pawl_workflows WHERE state <> 'finished'",
      );
      assert.ok(left.length > 0, "it was in the middle");
      await ended;
      const rows = await queryOn(
        server.url,
        "SELECT workflow_id || ' ' || step_name AS key, count(*) AS executions, " +
          "count(*) FILTER (WHERE outcome = 'success') AS successes, max(seq) AS last, " +
          "max(seq) FILTER (WHERE outcome = 'success') AS done " +
          "FROM pawl_step_executions GROUP BY workflow_id, step_name",
      );
      assert.equal(rows.length, WORKFLOWS * STEPS.length);
      for (const { key, executions, successes, last, done } of rows) {
        assert.equal(successes, "1", String(key));
        assert.equal(last, done, `${key} ran again after it was completed`);
        const times = runs.get(String(key)) ?? 0;
        assert.ok(times >= 1 && times <= Number(executions), `${key} ran ${times} times`);
      }
    },
  });
}

/** Resolves when no workflow is left; looks whenever one has ended, and asks the rows. */
async function allEnded(engines: readonly Engine[], url: string): Promise<void> {
  let tell = (): void => {};
  for (const { events } of engines) events.on("finalize", () => tell());
  while (true) {
    const moved = new Promise<void>((resolve) => void (tell = resolve));
    const left = await queryOn(
      url,
      "SELECT 1 FROM pawl_workflows WHERE state <> 'finished' LIMIT 1",
    ).catch(() => [1]);
    if (left.length === 0) return;
    await moved;
  }
}
