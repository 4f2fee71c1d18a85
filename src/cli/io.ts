/**
 * The border between the command line and the world: everything that a command prints, asks, waits
 * for or opens goes through it, so that tests can drive the commands in process.
 *
 * @module
 */

import process from "node:process";
import { createInterface } from "node:readline/promises";
import { type Clock, systemClock } from "../seams/clock.ts";
import type { StoreDriver } from "../seams/store.ts";
import { type Address, openStore } from "./database.ts";
import { importModule } from "./module.ts";

/** The signals that ask a command to end. */
export type StopSignal = "SIGINT" | "SIGTERM";

/** What a command has of the world. */
export interface Io {
  /** Prints results. */
  stdout(text: string): void;
  /** Prints everything else: questions, notes, log lines, errors. */
  stderr(text: string): void;
  /** The environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether results go to a terminal. */
  readonly isTTY: boolean;
  /** How many cells a line of that terminal has. */
  readonly columns: number;
  /** The folder that relative paths start from. */
  readonly cwd: string;
  /** The time. */
  readonly clock: Clock;
  /** Asks a person yes or no; null when there is nobody to ask. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  /** Calls back at every signal that asks to end; returns a function that stops listening. */
  onStop(listener: (signal: StopSignal) => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
  /** Opens a store. */
  open(address: Address): Promise<StoreDriver>;
  /** Loads a module and answers its exports. */
  load(specifier: string, cwd: string): Promise<Readonly<Record<string, unknown>>>;
}

const DEFAULT_COLUMNS = 100;

/** The real world. */
export function systemIo(): Io {
  const { stdin, stdout, stderr } = process;
  return {
    stdout: (text) => void stdout.write(text),
    stderr: (text) => void stderr.write(text),
    env: process.env,
    isTTY: stdout.isTTY === true,
    columns: stdout.columns ?? DEFAULT_COLUMNS,
    cwd: process.cwd(),
    clock: systemClock,
    confirm: stdin.isTTY === true && stderr.isTTY === true ? confirm : null,
    onStop,
    exit: (code) => process.exit(code),
    open: openStore,
    load: importModule,
  };
}

async function confirm(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D close the prompt without an answer, and that is a no.
  const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

function onStop(listener: (signal: StopSignal) => void): () => void {
  const heard = (["SIGINT", "SIGTERM"] as const).map((signal) => {
    const hear = (): void => listener(signal);
    process.on(signal, hear);
    return () => void process.removeListener(signal, hear);
  });
  return () => heard.forEach((off) => off());
}
