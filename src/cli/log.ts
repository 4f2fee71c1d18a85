/**
 * Log lines of a worker: one per line on stderr, for people or for machines.
 *
 * @module
 */

import type { Logger } from "../define/context.ts";
import { storedError } from "../state/stored_error.ts";
import type { Io } from "./io.ts";
import { clean } from "./table.ts";

/** The levels, the quietest last. */
export const LEVELS = ["debug", "info", "warn", "error"] as const;

/** A level of a log line. */
export type Level = (typeof LEVELS)[number];

/** How lines are written. */
export interface LogOptions {
  /** The lowest level that is written. */
  readonly level: Level;
  /** Whether a machine reads them. */
  readonly json: boolean;
}

/** A logger that writes to stderr. */
export function stderrLogger(io: Pick<Io, "stderr" | "clock">, options: LogOptions): Logger {
  const lowest = LEVELS.indexOf(options.level);
  const line = (level: Level) => (message: string, fields: Record<string, unknown> = {}): void => {
    if (LEVELS.indexOf(level) < lowest) return;
    const time = new Date(io.clock.now()).toISOString();
    io.stderr(
      options.json
        ? `${JSON.stringify({ time, level, message, ...forMachines(fields) })}\n`
        : `${[time, level.padEnd(5), clean(message), ...forPeople(fields)].join(" ")}\n`,
    );
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

function forMachines(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, plain(value)]),
  );
}

/** What JSON can hold; a field that it cannot must not lose the line. */
function plain(value: unknown): unknown {
  if (value instanceof Error) return storedError(value);
  if (typeof value === "bigint") return String(value);
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return String(value);
  }
}

function forPeople(fields: Record<string, unknown>): string[] {
  return Object.entries(fields).filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${word(value)}`);
}

function word(value: unknown): string {
  if (value instanceof Error) {
    const { errorClass, message } = storedError(value);
    return JSON.stringify(clean(`${errorClass}: ${message}`));
  }
  const text = typeof value === "string" ? value : JSON.stringify(plain(value)) ?? String(value);
  const cleaned = clean(text);
  return typeof value === "string" && /[\s"=]|^$/.test(cleaned) ? JSON.stringify(cleaned) : cleaned;
}
