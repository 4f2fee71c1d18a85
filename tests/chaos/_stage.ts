/**
 * The story of the chaos in one process: two engines on one SQLite database, of which the first may
 * stand still over a body until the second has taken over.
 */

import { DatabaseSync } from "node:sqlite";
import { BROKEN, type Broken } from "../../chaos/broken.ts";
import { check, type Dossier, type Findings } from "../../chaos/checker.ts";
import { book } from "../../chaos/databases.ts";
import type { Line } from "../../chaos/journal.ts";
import { type Limits, story } from "../../chaos/story.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import { createEngine, type Engine, type StoreDriver } from "../../mod.ts";
import { allRuns } from "../_runs.ts";
import { storeWith, until } from "../run/_doubles.ts";
import { createGate, type Gate } from "../run/_gate.ts";

const LIMITS: Limits = { leaseMs: 120, chanceMs: 60 };

/** How the first engine stands still: before which pace of a body of this step. */
export interface StandStill {
  readonly step: string;
  readonly pace: number;
  /**
   * It comes back so suddenly that its body ends before it has heard of anything, and meets the
   * second engine in the middle of the next step but one.
   */
  readonly suddenly?: boolean;
}

/** Plays the story on a store that is broken in this way, or whole, and checks it. */
export async function play(
  broken: Broken | null,
  { workflows, still }: { workflows: number; still: StandStill | null },
): Promise<Findings> {
  using db = disposable(new DatabaseSync(":memory:"));
  const whole = sqliteStore(db) as StoreDriver;
  await whole.migrate();
  db.exec("CREATE TABLE ledger (workflow_id TEXT NOT NULL)");
  const lines: Line[] = [];
  const [gate, meeting] = [createGate(), createGate()];
  const stage: Stage = { lines, gate, standsSince: null, suddenly: still?.suddenly ?? false };
  const breaks = broken === null ? (store: StoreDriver) => store : BROKEN[broken].breaks;
  const standing = still && { ...still, gate };
  const first = engineOn(breaks(frozen(whole, stage)), stage, standing);
  const met = stage.suddenly ? { step: "notify", pace: 1, gate: meeting } : null;
  const second = engineOn(breaks(whole), stage, met);
  const runs = Array.from({ length: workflows }, () => ({}));
  await first.engine.startMany(first.definition, runs);
  const late = first.engine.work({ concurrency: 1 });
  if (still !== null) await stage.gate.arrived;
  const worker = second.engine.work({ concurrency: 4 });
  if (still !== null) await until(() => isOver(stage));
  await (met === null ? worker.idle() : meeting.arrived);
  gate.open();
  await late.idle();
  meeting.open();
  await worker.idle();
  await late.stop();
  await worker.stop();
  const findings = check(await dossiersOf(second.engine, db), lines, LIMITS);
  await first.engine.close();
  await second.engine.close();
  return findings;
}

interface Stage {
  readonly lines: Line[];
  readonly gate: Gate;
  /** Since when the first engine stands still; null: it does not. */
  standsSince: number | null;
  /** Whether it then hears nothing, instead of that its lease was lost. */
  readonly suddenly: boolean;
}

/** Whether the first engine has stood still for so long that the second must have taken over. */
function isOver({ standsSince }: Stage): boolean {
  return standsSince !== null && Date.now() - standsSince > 3 * LIMITS.leaseMs + LIMITS.chanceMs;
}

/** The first engine's store: while it stands still, no sign of life gets through. */
function frozen(store: StoreDriver, stage: Stage): StoreDriver {
  return storeWith(store, (real) => ({
    checkpoint: (batch, options) =>
      stage.standsSince !== null
        ? Promise.resolve(batch.map(() => stage.suddenly ? "held" : "lost"))
        : real.checkpoint(batch, options),
    claimDue: (options) =>
      stage.standsSince !== null ? Promise.resolve([]) : real.claimDue(options),
    close: () => Promise.resolve(),
  }));
}

function engineOn(
  store: StoreDriver,
  stage: Stage,
  still: StandStill & { readonly gate: Gate } | null,
): { engine: Engine; definition: ReturnType<typeof story> } {
  let begun = "";
  let paces = 0;
  let stood = false;
  const definition = story({
    limits: LIMITS,
    journal: {
      body(line) {
        if (line.what === "begin") {
          begun = line.stepName;
          paces = 0;
        }
        stage.lines.push({ item: null, ...line, at: Date.now() });
      },
    },
    book: (tx, id) => book("", tx, id),
    async pace() {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const isHere = still !== null && begun === still.step && ++paces === still.pace;
      if (!isHere || stood) return;
      stood = true;
      if (still.gate === stage.gate) stage.standsSince = Date.now();
      await still.gate.pass();
    },
  });
  const engine = createEngine({
    store,
    workflows: [definition],
    leaseMs: LIMITS.leaseMs,
    pollMs: 5,
    housekeeping: { interval: null },
  });
  return { engine, definition };
}

async function dossiersOf(engine: Engine, db: DatabaseSync): Promise<Dossier[]> {
  const dossiers: Dossier[] = [];
  const booked = db.prepare("SELECT count(*) AS n FROM ledger WHERE workflow_id = ?");
  for (const run of await allRuns(engine)) {
    const { id, state } = run;
    dossiers.push({ id, state, history: await run.history(), booked: Number(booked.get(id)?.n) });
  }
  return dossiers;
}

function disposable(db: DatabaseSync): DatabaseSync & Disposable {
  return Object.assign(db, { [Symbol.dispose]: () => db.close() });
}
