/**
 * The command line, driven in process: a database that outlives each command, a fake clock, and a
 * terminal that only remembers.
 */

import { memoryDatabase, memoryStore } from "../../drivers/memory/mod.ts";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";
import type { Engine, StoreDriver, WorkflowDefinition } from "../../mod.ts";
import type { Io, StopSignal } from "../../src/cli/io.ts";
import { run } from "../../src/cli/run.ts";
import { type FakeClock, testEngine } from "../../src/testing/mod.ts";

/** What a command printed, and how it ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** The results as JSON. */
  // deno-lint-ignore no-explicit-any -- the shapes differ between commands, and tests know theirs
  readonly json: any;
}

/** A place to type commands. */
export interface Shell {
  readonly engine: Engine;
  readonly clock: FakeClock;
  /** What `--module app` exports. */
  exports: Record<string, unknown>;
  /** Runs a command to its end. */
  pawl(...argv: string[]): Promise<Ended>;
  /** Changes the world of the commands that follow. */
  readonly world: { -readonly [Key in keyof Io]?: Io[Key] } & { answers?: boolean[] };
  /** The questions that were asked. */
  readonly questions: string[];
  /** Sends a signal to the commands that listen. */
  signal(name: StopSignal): void;
  /** What `exit` was called with. */
  readonly exits: number[];
  /** Everything that is printed while a command runs. */
  readonly printed: { out: string; err: string };
}

/** The stores that commands are tested on. */
export const STORES: Readonly<Record<string, () => Promise<Database>>> = {
  memory() {
    const database = memoryDatabase();
    return Promise.resolve({ open: () => memoryStore({ database }), drop: async () => {} });
  },
  async SQLite() {
    const folder = await Deno.makeTempDir({ prefix: "pawl_cli_" });
    return {
      open: () => sqliteStore(`${folder}/app.db`),
      drop: () => Deno.remove(folder, { recursive: true }),
    };
  },
};

interface Database {
  open(): StoreDriver;
  drop(): Promise<void>;
}

/** Registers a test of the command line for every embedded store. */
export function onStores(
  name: string,
  workflows: readonly WorkflowDefinition[],
  test: (shell: Shell) => Promise<void>,
): void {
  for (const [kind, open] of Object.entries(STORES)) {
    Deno.test(`${name} (${kind})`, async () => {
      const database = await open();
      try {
        await using t = await testEngine({ store: database.open(), workflows });
        await test(shellOf(t.engine, t.clock, database, workflows));
      } finally {
        await database.drop();
      }
    });
  }
}

function shellOf(
  engine: Engine,
  clock: FakeClock,
  database: Database,
  workflows: readonly WorkflowDefinition[],
): Shell {
  const listeners = new Set<(signal: StopSignal) => void>();
  const printed = { out: "", err: "" };
  const shell: Shell = {
    engine,
    clock,
    exports: { workflows },
    world: {},
    questions: [],
    exits: [],
    printed,
    signal: (name) => listeners.forEach((listener) => listener(name)),
    async pawl(...argv) {
      printed.out = printed.err = "";
      const { answers, ...world } = shell.world;
      const code = await run(argv, {
        stdout: (text) => void (printed.out += text),
        stderr: (text) => void (printed.err += text),
        env: { PAWL_DATABASE: "app.db" },
        isTTY: false,
        columns: 100,
        cwd: "/",
        clock,
        confirm: answers === undefined ? null : (question) => {
          shell.questions.push(question);
          return Promise.resolve(answers.shift() ?? false);
        },
        onStop(listener) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
        exit: (code) => void shell.exits.push(code),
        open: () => Promise.resolve(database.open()),
        load(specifier) {
          if (specifier === "app") return Promise.resolve(shell.exports);
          return Promise.reject(new TypeError(`Module not found "${specifier}"`));
        },
        ...world,
      });
      const { out, err } = printed;
      return {
        code,
        out,
        err,
        get json() {
          return JSON.parse(out);
        },
      };
    },
  };
  return shell;
}
