/**
 * A store with what its caller remembers, for random operations on several stores in step: whatever
 * they answer must be the same, ids aside.
 *
 * @module
 */

import fc from "fast-check";
import type { StoreDriver } from "../../src/seams/store.ts";
import type { Claim, Claimed } from "../../src/state/claim.ts";
import { after, finished, newExecution, newWorkflow } from "../drivers/_sqlite.ts";

const STEPS = ["welcome", "remind"] as const;

/** One operation on a store. */
export interface StoreOperation {
  /** What is done. */
  readonly kind: string;
  /** How much time has passed since the last one. */
  readonly passMs: number;
  /** The hero of a new workflow. */
  readonly hero: string;
  /** Decides all the rest: which row, which option. */
  readonly choice: number;
  /** The queue. */
  readonly queue: string;
  /** The priority. */
  readonly priority: number;
  /** Whether what comes next waits for a signal. */
  readonly waits: boolean;
  /** Whether what comes next is held. */
  readonly holds: boolean;
}

/** Any operation. */
export const storeOperation: fc.Arbitrary<StoreOperation> = fc.record({
  kind: fc.constantFrom(
    ...["create", "create", "claimDue", "claimDue", "claim", "checkpoint", "finish", "finish"],
    ...["pause", "resume", "cancel", "skip", "place", "signal", "purge", "look", "rollback"],
  ),
  passMs: fc.constantFrom(1, 1, 5, 40),
  hero: fc.constantFrom("1", "2", "3"),
  choice: fc.nat(1_000),
  queue: fc.constantFrom("default", "mail"),
  priority: fc.constantFrom(-1, 0, 1),
  waits: fc.boolean(),
  holds: fc.boolean(),
});

/** One store with what its caller remembers. */
export class StoreWorld {
  readonly labels: Map<string, string> = new Map();
  readonly workflows: string[] = [];
  readonly claims: Claimed[] = [];
  readonly executions: string[] = [];
  now: Date = after(0);
  #ms = 0;
  #calls = 0;

  // deno-lint-ignore no-explicit-any -- transactions of two kinds of stores
  constructor(readonly store: StoreDriver<any>) {}

  async apply(op: StoreOperation): Promise<unknown> {
    this.#ms += op.passMs;
    this.#calls++;
    this.now = after(this.#ms);
    const answer = await this.#perform(op).catch((error: Error) => ({ error: error.name }));
    return this.#normal(answer);
  }

  async #perform(op: StoreOperation): Promise<unknown> {
    const { store, now } = this;
    const options = { now };
    const hold = { token: `token ${this.#calls}`, leaseMs: 30, worker: "worker" };
    const workflowId = this.#pick(this.workflows, op.choice) ?? "404";
    const fresh = newExecution({
      stepName: STEPS[op.choice % 2] as string,
      scheduledFor: after(this.#ms + (op.choice % 3) * 7),
      graceMs: op.choice % 5 === 0 ? 11 : 0,
      queue: op.queue,
      priority: op.priority,
      waitingFor: op.waits ? "approved" : null,
      waitUntil: op.waits && op.choice % 2 === 0 ? after(this.#ms + 50) : null,
    });
    switch (op.kind) {
      case "create": {
        const allowMultiple = op.choice % 7 === 0;
        const first = op.choice % 11 === 0 ? null : fresh;
        const one = newWorkflow({ heroId: op.hero, allowMultiple, first });
        return this.#remember(await store.create([one, one], options));
      }
      case "claimDue":
        return this.#keep(
          this.#inOrder(
            await store.claimDue({
              ...hold,
              now,
              limit: 500,
              queues: op.choice % 3 === 0 ? [op.queue] : undefined,
              state: op.choice % 5 === 0 ? "in_progress" : undefined,
              ...(op.choice % 4 === 0 ? { ignoreDue: true, before: after(this.#ms + 1_000) } : {}),
            }),
          ),
        );
      case "claim": {
        const ids = [this.#pick(this.executions, op.choice) ?? "404", "nonsense"];
        return this.#keep(await store.claim(ids, { ...hold, now }));
      }
      case "checkpoint": {
        const claim = this.#pick(this.claims, op.choice);
        const progress = { done: op.choice / 4, total: op.waits ? 300 : null, message: null };
        return await store.checkpoint([{
          executionId: claim?.execution.id ?? "404",
          token: claim?.execution.token ?? "",
          ...(op.holds ? { cursor: String(op.choice), progress } : {}),
        }], { now, leaseMs: 30 });
      }
      case "finish":
        return await this.#finish(op, { ...fresh, hold: op.holds ? hold : null });
      case "pause":
      case "cancel":
        return await store.command(workflowId, { kind: op.kind }, options);
      case "resume": {
        const expected = (await store.get(workflowId))?.nextStepName ?? null;
        return await store.command(workflowId, {
          kind: "resume",
          expected: op.choice % 9 === 0 ? "elsewhere" : expected,
          fresh: expected === null ? null : { ...fresh, stepName: expected },
          resumable: op.holds,
          graceMs: 0,
        }, options);
      }
      case "skip": {
        const expected = (await store.get(workflowId))?.nextStepName ?? null;
        const next = op.holds ? fresh : null;
        return await store.command(workflowId, { kind: "skip", expected, next }, options);
      }
      case "place": {
        const from = op.holds ? "paused" : "ready";
        return await store.command(workflowId, { kind: "place", from, next: fresh }, options);
      }
      case "signal":
        return await store.signal(workflowId, {
          name: op.choice % 4 === 0 ? "other" : "approved",
          payload: String(op.choice),
          idempotencyKey: op.choice % 3 === 0 ? `key ${op.choice % 2}` : null,
          graceMs: 0,
        }, options);
      case "purge":
        return await store.purge({ before: after(this.#ms - 20), limit: 2 });
      case "rollback":
        return await store.transaction(async (tx) => {
          await store.command(workflowId, { kind: "cancel" }, { now, tx });
          await store.create([newWorkflow({ heroId: op.hero })], { now, tx });
          throw new Error("undo");
        });
      default:
        return await this.#look(workflowId, op);
    }
  }

  async #finish(op: StoreOperation, next: ReturnType<typeof newExecution>): Promise<unknown> {
    const claim = this.#pick(this.claims, op.choice);
    if (claim === undefined) return null;
    const goesOn = op.choice % 3 !== 0;
    const [result] = await this.store.finish([
      finished(claim, {
        workflowState: goesOn ? "ready" : op.waits ? "paused" : "finished",
        nextStepName: goesOn ? next.stepName : op.waits ? claim.execution.stepName : null,
        next: goesOn ? { ...next, continuesFromId: claim.execution.id } : null,
        keepCursor: op.holds,
        metadata: `{"choice":${op.choice}}`,
        error: op.choice % 5 === 0 ? { errorClass: "E", message: "m", stack: null } : null,
      }),
    ], { now: this.now });
    if (result?.kind === "done" && result.next !== null) {
      const { workflow, next: execution } = result;
      this.executions.push(execution.id);
      if (execution.token !== null) {
        this.claims.push({ kind: "claimed", from: "scheduled", workflow, execution });
      }
    }
    return result;
  }

  async #look(workflowId: string, op: StoreOperation): Promise<unknown> {
    const { store } = this;
    return [
      await store.get(workflowId),
      await store.active(workflowId),
      await store.history(workflowId, { limit: 50, afterSeq: op.choice % 2 }),
      await store.signals(workflowId),
      sorted(await store.counts()),
      sorted(await store.stepCounts("onboarding")),
      await store.list({ states: op.holds ? ["ready", "finished"] : undefined }, { limit: 5 }),
      await store.due({ before: this.now, limit: 10 }),
    ];
  }

  #pick<T>(from: readonly T[], choice: number): T | undefined {
    return from.length === 0
      ? undefined
      : from[from.length - 1 - choice % Math.min(from.length, 6)];
  }

  #remember(created: Awaited<ReturnType<StoreDriver["create"]>>): unknown {
    for (const one of created) {
      if (one.kind !== "created") continue;
      this.workflows.push(one.workflow.id);
      if (one.execution !== null) this.executions.push(one.execution.id);
    }
    return created;
  }

  #keep(claims: readonly Claim[]): unknown {
    this.claims.push(...claims.filter((one) => one.kind === "claimed"));
    return claims;
  }

  /** Nobody promised an order among what wakes at the same instant. */
  #inOrder(claims: readonly Claimed[]): Claimed[] {
    const place = ({ execution }: Claimed): string =>
      this.labels.get(`execution ${execution.id}`)?.padStart(20) ?? "";
    return claims.toSorted((a, b) => place(a) < place(b) ? -1 : 1);
  }

  /** The answer without ids: each is replaced by when it was first seen. JSON is what it says. */
  #normal(answer: unknown): unknown {
    const labels = this.labels;
    return JSON.parse(JSON.stringify(answer ?? null, function (this: object, key, value) {
      if (typeof value === "string" && JSON_KEYS.has(key)) return sortedKeys(JSON.parse(value));
      const table = typeof value === "string" ? tableOf(key, this) : null;
      if (table === null) return value;
      const id = `${table} ${value}`;
      if (!labels.has(id)) labels.set(id, `${table} #${labels.size}`);
      return labels.get(id);
    }));
  }
}

const JSON_KEYS: ReadonlySet<string> = new Set(["input", "metadata", "cursor", "payload"]);

/** A column of a type for JSON keeps the value and not the order of its keys. */
function sortedKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, sortedKeys(member)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1));
}

/** Which table an id belongs to; null for what is no id. */
function tableOf(key: string, holder: object): string | null {
  if (key === "workflowId" || key === "existingId") return "workflow";
  if (/^(executionId|continuesFromId|consumedById)$/.test(key)) return "execution";
  if (key !== "id") return null;
  return "seq" in holder ? "execution" : "sentAt" in holder ? "signal" : "workflow";
}

/** Order that nobody promised. */
function sorted<T>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
}
