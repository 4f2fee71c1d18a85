/**
 * What a command is: a name, options, words for its help, and a function.
 *
 * @module
 */

import type { Engine } from "../run/engine.ts";
import type { EngineOptions } from "../run/options.ts";
import type { StoreDriver } from "../seams/store.ts";
import type { Io } from "./io.ts";
import type { Palette } from "./style.ts";

/** Everything is done. */
export const DONE = 0;
/** It failed, or it was refused. */
export const FAILED = 1;
/** What was typed cannot be run. */
export const WRONG_USAGE = 2;
/** The deploy gate found trouble. */
export const TROUBLE = 3;

/** One option of a command. */
export interface OptionSpec {
  /** What stands for its value in the help; absent for an option that takes none. */
  readonly value?: string;
  /** What it does, for the help. */
  readonly about: string;
  /** Its one letter. */
  readonly short?: string;
}

/** What was typed for a command. */
export interface Given {
  /** The options by name: the last value of each, or true. */
  readonly options: Readonly<Record<string, string | true>>;
  /** The other words. */
  readonly words: readonly string[];
}

/** What a command runs with. */
export interface Context extends Given {
  /** The world. */
  readonly io: Io;
  /** The command itself. */
  readonly command: Command;
  /** The colours of results. */
  readonly palette: Palette;
  /** Whether a machine reads the results. */
  readonly json: boolean;
  /** Prints a line of results. */
  print(line: string): void;
  /** Prints a line for the person who typed the command. */
  note(line: string): void;
  /** Prints the results for a machine. */
  printJson(value: unknown): void;
  /** Opens the store, runs work on it, and closes it. */
  withStore<T>(work: (store: StoreDriver) => Promise<T>): Promise<T>;
  /** Makes an engine on the store, runs work with it, and closes both. */
  withEngine<T>(how: EngineWants, work: (engine: Engine) => Promise<T>): Promise<T>;
}

/** What an engine of a command is made with. */
export interface EngineWants {
  /** Whether the definitions are needed, and so the module that has them. */
  readonly module: "needed" | "welcome" | "unused";
  /** The module, where it does not come from `--module`. */
  readonly specifier?: string | undefined;
  /** What else the engine is told. */
  readonly options?: Pick<EngineOptions, "logger" | "reportError" | "housekeeping">;
}

/** A command. */
export interface Command {
  /** Its name. */
  readonly name: string;
  /** What it does, in a line. */
  readonly summary: string;
  /** The words after its name, such as `<id>`; empty when it takes none. */
  readonly words: string;
  /** How many words it takes, at the least and at the most. */
  readonly count: readonly [number, number];
  /** Its own options. */
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** More about it: paragraphs of the help. */
  readonly about: readonly string[];
  /** What `--json` prints, for the help. */
  readonly shape: string;
  /** Examples: what to type, and what it is for. */
  readonly examples: readonly (readonly [string, string])[];
  /** Does it; answers the exit code. */
  run(context: Context): Promise<number>;
}

/** The options that every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  database: {
    value: "URL",
    about: "the database: postgres://…, mysql://…, sqlite:///path or a path; or PAWL_DATABASE",
  },
  "table-prefix": { value: "PREFIX", about: 'what the tables begin with, "pawl_" by default' },
  schema: { value: "NAME", about: "the schema of the tables (PostgreSQL)" },
  json: { about: "results for machines" },
  debug: { about: "show the stack of an error" },
  help: { about: "this help", short: "h" },
};

/** The option that names the module with the definitions. */
export const MODULE_OPTION: Readonly<Record<string, OptionSpec>> = {
  module: {
    value: "FILE",
    about: "the module that exports the workflows; or PAWL_MODULE",
  },
};
