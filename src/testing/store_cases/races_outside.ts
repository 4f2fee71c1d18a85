/**
 * Cases about commands and signals that meet at once, or meet a worker.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Command } from "../../state/command.ts";
import {
  assertSame,
  claimOptions,
  expectKind,
  finished,
  newExecution,
  newSignal,
  only,
  resume,
  skip,
  start,
  startClaimed,
} from "./_builders.ts";
import type { StoreCase } from "./_case.ts";
import { bring, type Situation } from "./_situations.ts";
import { kinds, NOW, race } from "./_race.ts";

/** Two equal commands at once: one is done, and the other meets what the first one made. */
function twice(
  name: string,
  situation: Situation,
  what: Command,
  loser: "refused" | "moved",
): StoreCase {
  return race(name, async (one, two, heroId) => {
    const { workflowId } = await bring(one, situation, { heroId });
    const results = await Promise.all(
      [one, two].map((store) => store.command(workflowId, what, { now: NOW })),
    );
    assertSame(kinds(results), ["done", loser]);
    const history = await one.history(workflowId, { limit: 10 });
    const active = history.filter((row) => row.finishedAt === null);
    assert.ok(active.length <= 1, "there is at most one active execution");
  });
}

const second = newExecution({ stepName: "second", scheduledFor: NOW });

const commandRaces: readonly StoreCase[] = [
  twice("EXT-28 of two pauses exactly one is done", "ready", { kind: "pause" }, "refused"),
  twice("EXT-28 of two cancels exactly one is done", "ready", { kind: "cancel" }, "refused"),
  twice("EXT-28 of two resumes exactly one is done", "paused", resume(), "refused"),
  twice(
    "EXT-28 SCH-10 of two resumes after a failure exactly one schedules the step",
    "paused after a failure",
    resume(),
    "refused",
  ),
  twice("EXT-28 of two skips of one step exactly one is done", "ready", skip(second), "moved"),
  twice("EXT-28 of two skips of the last step exactly one is done", "ready", skip(null), "refused"),
  twice(
    "EXT-28 SCH-10 of two that place a paused workflow exactly one does",
    "paused",
    { kind: "place", from: "paused", next: second },
    "refused",
  ),

  race(
    "EXT-28 a pause and a claim at once leave either a running body or a canceled execution",
    async (one, two, heroId) => {
      const { workflow, execution } = await start(one, { heroId });
      const [paused, claims] = await Promise.all([
        one.command(workflow.id, { kind: "pause" }, { now: NOW }),
        two.claim([execution.id], claimOptions({ now: NOW })),
      ]);
      assert.equal(paused.kind, "done");
      assert.equal((await one.get(workflow.id))?.state, "paused");
      const { kind } = only(claims);
      const { state, wakeAt } = await two.getExecution(execution.id) ?? {};
      switch (kind) {
        case "claimed":
          return assert.equal(state, "in_progress");
        case "stopped":
          return assert.equal(state, "canceled");
        default:
          // A claim does not wait for a row that somebody has locked.
          assert.equal(kind, "taken");
          assertSame([state, wakeAt], ["scheduled", null]);
      }
    },
  ),

  race("EXT-28 a skip and a claim at once do not both have the step", async (one, two, heroId) => {
    const { workflow, execution } = await start(one, { heroId });
    const [skipped, claims] = await Promise.all([
      one.command(workflow.id, skip(second), { now: NOW }),
      two.claim([execution.id], claimOptions({ now: NOW })),
    ]);
    const { kind } = only(claims);
    const both = [skipped.kind, kind];
    assertSame(both, skipped.kind === "done" ? ["done", "taken"] : ["refused", "claimed"]);
    assert.equal((await one.active(workflow.id))?.stepName, kind === "taken" ? "second" : "first");
  }),
];

const signalRaces: readonly StoreCase[] = [
  race(
    "NEW-05 of two signals of one key at once exactly one is stored",
    async (one, two, heroId) => {
      const { workflow } = await start(one, { heroId });
      const signal = newSignal({ idempotencyKey: "evt_1" });
      const results = await Promise.all(
        [one, two, one].map((store) => store.signal(workflow.id, signal, { now: NOW })),
      );
      assertSame(kinds(results), ["known", "known", "stored"]);
      assert.equal((await two.signals(workflow.id)).length, 1);
    },
  ),

  race(
    "NEW-05 a signal that comes while its step begins to wait is not missed",
    async (one, two, heroId) => {
      const held = await startClaimed(one, { heroId });
      const { id } = held.workflow;
      const next = newExecution({ stepName: "second", waitingFor: "approved", scheduledFor: NOW });
      const [[done], sent] = await Promise.all([
        one.finish([finished(held, { next })], { now: NOW }),
        two.signal(id, newSignal(), { now: NOW }),
      ]);
      const jobs = [expectKind(done, "done").job, expectKind(sent, "stored").job];
      assert.equal(
        jobs.filter((job) => job !== null).length,
        1,
        "exactly one of the two announces",
      );
      const active = await one.active(id);
      assertSame(active?.wakeAt, NOW);
      const claim = only(
        await two.claim([active?.id ?? ""], claimOptions({ now: NOW, token: "b" })),
      );
      assert.equal(claim.kind, "claimed");
    },
  ),

  race("NEW-05 of two signals one is received, and the other is kept", async (one, two, heroId) => {
    const first = newExecution({ waitingFor: "approved" });
    const { workflow, execution } = await start(one, { heroId, first });
    await Promise.all(
      [one, two].map((store) => store.signal(workflow.id, newSignal(), { now: NOW })),
    );
    expectKind(only(await one.claim([execution.id], claimOptions({ now: NOW }))), "claimed");
    const signals = await two.signals(workflow.id);
    assert.equal(signals.length, 2);
    assert.equal(signals.filter((signal) => signal.consumedById === null).length, 1);
  }),
];

/** The races of commands and signals. */
export const outsideRaceCases: readonly StoreCase[] = [...commandRaces, ...signalRaces];
