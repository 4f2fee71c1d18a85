/**
 * Stores that break one promise each. They are here to be caught: a checker that has never
 * complained proves nothing. `deno task chaos --break <name>` gives one to every worker process, and
 * `tests/chaos/broken_test.ts` runs the story on all of them.
 */

import type { FinishResult, StoreDriver } from "../mod.ts";

/** A way to break a store. */
export interface Breakage {
  /** What it does wrong. */
  readonly what: string;
  /** Makes a broken store from a whole one. */
  breaks(store: StoreDriver): StoreDriver;
}

/** The names of the ways to break a store. */
export type Broken =
  | "double-claim"
  | "ignored-token"
  | "dropped-next"
  | "repeated-finish"
  | "lying-checkpoint"
  | "deaf-heartbeat"
  | "ledger-apart"
  | "blind-sweep";

/** Every how many times a store is broken that is not always so. */
const SELDOM = 5;

/** The ways to break a store. */
export const BROKEN: Readonly<Record<Broken, Breakage>> = {
  "double-claim": {
    what: "a claim without a fence: what is due is granted twice",
    breaks: (store) => ({
      ...store,
      async claimDue(options) {
        const limit = Math.max(1, Math.floor(options.limit / 2));
        const claims = await store.claimDue({ ...options, limit });
        return claims.flatMap((claim) => [claim, claim]);
      },
    }),
  },
  "ignored-token": {
    what: "a finish that ignores the token: a late one ends whatever runs now",
    breaks: (store) => ({
      ...store,
      finish: (batch, options) =>
        Promise.all(batch.map(async (finished): Promise<FinishResult> => {
          const [result] = await store.finish([finished], options);
          if (result?.kind === "done") return result;
          const active = await store.active(finished.workflowId);
          if (active === null || active.token === null) return { kind: "lost" };
          const { id: executionId, token } = active;
          const { seen: _, ...verdict } = finished;
          const [again] = await store.finish([{ ...verdict, executionId, token }], options);
          return again as FinishResult;
        })),
    }),
  },
  "dropped-next": {
    what: "a finish that forgets to schedule what is next, now and then",
    breaks(store) {
      let finishes = 0;
      return {
        ...store,
        finish: (batch, options) =>
          store.finish(
            batch.map((one) => ++finishes % SELDOM === 0 ? { ...one, next: null } : one),
            options,
          ),
      };
    },
  },
  "repeated-finish": {
    what: "a finish that is reported twice: who lost the lease is told that it is done",
    breaks: (store) => ({
      ...store,
      async finish(batch, options) {
        const results = await store.finish(batch, options);
        return await Promise.all(results.map(async (result, at): Promise<FinishResult> => {
          if (result.kind === "done") return result;
          const { workflowId, executionId } = batch[at] as typeof batch[number];
          const [workflow, execution, next] = await Promise.all([
            store.get(workflowId),
            store.getExecution(executionId),
            store.active(workflowId),
          ]);
          if (workflow === null || execution === null) return result;
          return { kind: "done", workflow, execution, next, job: null };
        }));
      },
    }),
  },
  "lying-checkpoint": {
    what: "a checkpoint that confirms a cursor without storing it",
    breaks: (store) => ({
      ...store,
      checkpoint: (batch, options) =>
        store.checkpoint(batch.map(({ cursor: _, ...rest }) => rest), options),
    }),
  },
  "deaf-heartbeat": {
    what: "a heartbeat that never says that the lease was lost",
    breaks: (store) => ({
      ...store,
      async checkpoint(batch, options) {
        const answers = await store.checkpoint(batch, options);
        return answers.map((answer) => answer === "lost" ? "held" : answer);
      },
    }),
  },
  "ledger-apart": {
    what:
      "a transaction that commits the application's part by itself, and then fails now and then",
    breaks(store) {
      let finishes = 0;
      return {
        ...store,
        async finish(batch, options) {
          if (options.tx !== undefined) {
            await split(options.tx);
            if (++finishes % SELDOM === 0) throw new Error("failed between the two commits");
          }
          return await store.finish(batch, options);
        },
      };
    },
  },
  "blind-sweep": {
    what: "a sweep that does not see executions whose worker died",
    breaks: (store) => ({
      ...store,
      claimDue: (options) =>
        options.state === "in_progress"
          ? Promise.resolve([])
          : store.claimDue({ ...options, state: "scheduled" }),
    }),
  },
};

/** Ends a transaction and begins another on its connection. */
async function split(tx: unknown): Promise<void> {
  const { exec, query } = tx as {
    exec?(sql: string): void;
    query?(sql: string): Promise<unknown>;
  };
  for (const sql of ["COMMIT", "BEGIN"]) {
    if (exec !== undefined) exec.call(tx, sql);
    else await query?.call(tx, sql);
  }
}
