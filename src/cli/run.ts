/**
 * Running a command: understand what was typed, do it, and turn whatever goes wrong into a sentence
 * and an exit code.
 *
 * @module
 */

import { pollingQueue } from "../../drivers/queues/polling.ts";
import { PawlError } from "../errors.ts";
import { buildEngine, type Engine } from "../run/engine.ts";
import type { StoreDriver } from "../seams/store.ts";
import { toError } from "../state/stored_error.ts";
import { isGiven, textOf, type Typed, understand } from "./args.ts";
import { type Command, type Context, DONE, FAILED, WRONG_USAGE } from "./command.ts";
import { COMMANDS } from "./commands/mod.ts";
import { addressOf, maskerFor } from "./database.ts";
import { helpFor, overview } from "./help.ts";
import type { Io } from "./io.ts";
import { definitionsIn } from "./module.ts";
import { ansiPalette, type Palette, plainPalette } from "./style.ts";
import { UsageError } from "./usage.ts";
import { VERSION } from "../version.ts";

/** Runs the command line; answers the exit code. */
export async function run(argv: readonly string[], given: Io): Promise<number> {
  const io = maskedIo(given, argv);
  const palette = paletteFor(io);
  try {
    const typed = understand(argv, COMMANDS);
    switch (typed.kind) {
      case "version":
        io.stdout(`${VERSION}\n`);
        return DONE;
      case "help":
        io.stdout(
          `${
            typed.command === null ? overview(COMMANDS, palette) : helpFor(typed.command, palette)
          }\n`,
        );
        return DONE;
      case "command":
        return await typed.command.run(contextOf(typed, io, palette));
    }
  } catch (thrown) {
    return explain(toError(thrown), io, {
      debug: argv.includes("--debug"),
      json: argv.includes("--json"),
    });
  }
}

/** Colours are for eyes: not for files, not for those who switched them off. */
function paletteFor({ isTTY, env }: Io): Palette {
  const off = (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb";
  return isTTY && !off ? ansiPalette : plainPalette;
}

/** Whatever is printed, no password of a URL is in it. */
function maskedIo(io: Io, argv: readonly string[]): Io {
  const at = argv.findIndex((word) => word.startsWith("--database"));
  const word = argv[at] ?? "";
  const typed = word.includes("=") ? word.slice(word.indexOf("=") + 1) : argv[at + 1];
  const mask = maskerFor(at < 0 ? io.env.PAWL_DATABASE : typed);
  return {
    ...io,
    stdout: (text) => io.stdout(mask(text)),
    stderr: (text) => io.stderr(forShells(mask(text))),
  };
}

/** Drivers advise the authors of programs; somebody at a shell has a command for it. */
function forShells(text: string): string {
  return text.replaceAll("run `await engine.migrate()` first", 'run "pawl migrate" first');
}

function explain(error: Error, io: Io, how: { debug: boolean; json: boolean }): number {
  const usage = error instanceof UsageError;
  const code = usage ? "usage" : error instanceof PawlError ? error.code : "unexpected";
  const message = error.message === "" ? error.name : error.message;
  if (how.json) io.stderr(`${JSON.stringify({ error: { code, message } })}\n`);
  else io.stderr(`${harmless(message)} [${code}]\n`);
  if (how.debug) io.stderr(`${stackOf(error)}\n`);
  return usage ? WRONG_USAGE : FAILED;
}

/** A message may repeat what was typed or stored, and a terminal obeys control characters. */
function harmless(message: string): string {
  // deno-lint-ignore no-control-regex -- these are the characters that must not get out
  return message.replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, "\uFFFD");
}

function stackOf(error: Error): string {
  const own = error.stack ?? String(error);
  return error.cause instanceof Error ? `${own}\nCaused by: ${stackOf(error.cause)}` : own;
}

function contextOf(
  typed: Extract<Typed, { kind: "command" }>,
  io: Io,
  palette: Palette,
): Context {
  const { command } = typed;
  const withStore: Context["withStore"] = async (work) => {
    const store = await openFor(typed, io);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  return {
    ...typed,
    io,
    palette,
    json: isGiven(typed, "json"),
    print: (line) => io.stdout(`${line}\n`),
    note: (line) => io.stderr(`${line}\n`),
    printJson: (value) => io.stdout(`${JSON.stringify(value, null, 2)}\n`),
    withStore,
    async withEngine({ module, specifier = moduleOf(typed, io), options }, work) {
      if (module === "needed" && specifier === undefined) throw needsModule(command);
      const workflows = module === "unused" || specifier === undefined
        ? []
        : await definitionsIn(specifier, () => io.load(specifier, io.cwd));
      return await withStore(async (store) => {
        const queue = pollingQueue();
        const engine: Engine = buildEngine({
          ...options,
          store,
          queue,
          workflows,
          clock: io.clock,
        });
        try {
          return await work(engine);
        } finally {
          await engine.close();
        }
      });
    },
  };
}

/** The module that was named, or undefined. */
function moduleOf(typed: Extract<Typed, { kind: "command" }>, io: Io): string | undefined {
  return textOf(typed, "module") ?? (io.env.PAWL_MODULE || undefined);
}

function needsModule({ name }: Command): UsageError {
  return new UsageError(
    `Cannot ${name} without the definitions: what runs next is planned from the steps in the ` +
      `code; name the module that exports them with --module <file>, or in PAWL_MODULE`,
    name,
  );
}

async function openFor(
  typed: Extract<Typed, { kind: "command" }>,
  io: Io,
): Promise<StoreDriver> {
  const named = textOf(typed, "database") ?? (io.env.PAWL_DATABASE || undefined);
  if (named === undefined) {
    throw new UsageError(
      `Cannot run "${typed.command.name}" without a database: name it with --database <url>, ` +
        `or in PAWL_DATABASE`,
      typed.command.name,
    );
  }
  return await io.open(addressOf(named, {
    cwd: io.cwd,
    tablePrefix: textOf(typed, "table-prefix"),
    schema: textOf(typed, "schema"),
    create: typed.command.name === "migrate" && !isGiven(typed, "dry-run"),
  }));
}
