/**
 * From the words that were typed to a command with its options, or to a sentence that says what is
 * wrong with them.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { durationMs } from "../define/durations.ts";
import { nearest } from "../define/options.ts";
import { PawlError } from "../errors.ts";
import { type Command, COMMON_OPTIONS, type Given, type OptionSpec } from "./command.ts";
import { UsageError } from "./usage.ts";

/** What was typed, understood. */
export type Typed =
  | { readonly kind: "help"; readonly command: Command | null }
  | { readonly kind: "version" }
  | ({ readonly kind: "command"; readonly command: Command } & Given);

/** Understands what was typed. */
export function understand(argv: readonly string[], commands: readonly Command[]): Typed {
  const { leading, first, rest } = split(argv);
  const asksForHelp = leading.some(isHelp) || first === undefined;
  if (first === "help" || asksForHelp) {
    const about = rest.find((word) => !word.startsWith("-"));
    const named = first === "help" ? about : first;
    return { kind: "help", command: named === undefined ? null : commandNamed(named, commands) };
  }
  if (first === "--version") return { kind: "version" };
  const command = commandNamed(first, commands);
  // Help is asked for by people who do not know the rest, so the rest may be wrong.
  if (rest.some(isHelp)) return { kind: "help", command };
  return { kind: "command", command, ...parseFor(command, [...leading, ...rest]) };
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

/** The command is the first word that is not an option of all commands, or the value of one. */
function split(
  argv: readonly string[],
): { leading: readonly string[]; first: string | undefined; rest: readonly string[] } {
  let at = 0;
  while (at < argv.length) {
    const word = argv[at] as string;
    const name = /^--([^=]+)/.exec(word)?.[1];
    const spec = word === "-h" ? COMMON_OPTIONS.help : COMMON_OPTIONS[name ?? ""];
    if (spec === undefined) break;
    at += spec.value === undefined || word.includes("=") ? 1 : 2;
  }
  const first = argv[at];
  if (first?.startsWith("-") && first !== "--version") {
    throw new UsageError(
      `Cannot run "${first}": the first word is the command; type it before its options, ` +
        `or "pawl --help"`,
    );
  }
  return { leading: argv.slice(0, at), first, rest: argv.slice(at + 1) };
}

function commandNamed(name: string, commands: readonly Command[]): Command {
  const found = commands.find((one) => one.name === name);
  if (found !== undefined) return found;
  const near = nearest(name, commands.map((one) => one.name));
  const hint = near === null ? "" : ` (did you mean "${near}"?)`;
  throw new UsageError(
    `Cannot run "${name}"${hint}: there is no such command; "pawl --help" lists them`,
  );
}

/** Parses the words after a command's name. */
export function parseFor(command: Command, argv: readonly string[]): Given {
  const known = { ...COMMON_OPTIONS, ...command.options };
  // Not strict, because its own complaints differ between runtimes; the tokens are checked here.
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(known).map(([name, { value, short }]) => [name, {
        type: value === undefined ? "boolean" as const : "string" as const,
        ...(short === undefined ? {} : { short }),
      }]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options: Record<string, string | true> = {};
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind === "option") options[token.name] = checked(token, known, command.name);
  }
  checkWords(command, words);
  return { options, words };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function checked(
  { name, rawName, value, inlineValue }: OptionToken,
  known: Readonly<Record<string, OptionSpec>>,
  command: string,
): string | true {
  const spec = Object.hasOwn(known, name) ? known[name] : undefined;
  if (spec === undefined) {
    const near = nearest(name, Object.keys(known));
    const hint = near === null ? "" : ` (did you mean --${near}?)`;
    throw new UsageError(
      `Cannot use ${rawName}${hint}: "${command}" has no such option; ` +
        `"pawl ${command} --help" lists them`,
      command,
    );
  }
  if (spec.value === undefined) {
    if (value === undefined) return true;
    throw new UsageError(`Cannot use ${rawName}=${value}: ${rawName} takes no value`, command);
  }
  const isOption = inlineValue !== true && value !== undefined && /^-./.test(value);
  if (value === undefined || value === "" || isOption) {
    throw new UsageError(
      `Cannot use ${rawName} without a value: type ${rawName}=${spec.value}`,
      command,
    );
  }
  return value;
}

function checkWords(
  { name, words, count: [least, most] }: Command,
  typed: readonly string[],
): void {
  if (typed.length >= least && typed.length <= most) return;
  const wrong = typed.length < least
    ? "something is missing"
    : `"${typed[most]}" is one word too many`;
  throw new UsageError(
    `Cannot run "${name}": ${wrong}; type: pawl ${[name, words, "[options]"].join(" ")}`,
    name,
  );
}

/** The value of an option, or undefined. */
export function textOf({ options }: Given, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** Whether an option that takes no value was given. */
export function isGiven({ options }: Given, name: string): boolean {
  return options[name] !== undefined;
}

/** The words of an option that takes several, separated by commas. */
export function wordsOf(given: Given, name: string): string[] | undefined {
  const words = textOf(given, name)?.split(",").map((word) => word.trim()).filter(Boolean);
  if (words?.length === 0) throw new UsageError(`Cannot use --${name} without a value`);
  return words;
}

/** A whole number above zero. */
export function wholeOf(given: Given, name: string): number | undefined {
  const text = textOf(given, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0) return value;
  throw new UsageError(`Cannot use "${text}" as --${name}: it must be a whole number from 1`);
}

/** A length of time in milliseconds; a number without a unit could be anything, and is refused. */
export function durationOf(given: Given, name: string): number | undefined {
  const text = textOf(given, name);
  if (text === undefined) return undefined;
  try {
    if (!/^\s*[\d.]+\s*$/.test(text)) return durationMs(text, `--${name}`);
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
  }
  throw new UsageError(
    `Cannot use "${text}" as --${name}: it is not a length of time; ` +
      `write it with its unit, such as 30s, "5 minutes" or 2h`,
  );
}

/** One of a few words. */
export function choiceOf<Word extends string>(
  given: Given,
  name: string,
  allowed: readonly Word[],
): Word | undefined {
  const text = textOf(given, name);
  if (text === undefined) return undefined;
  return chosen(text, name, allowed);
}

/** Checks that a word is one of a few. */
export function chosen<Word extends string>(
  text: string,
  name: string,
  allowed: readonly Word[],
): Word {
  if ((allowed as readonly string[]).includes(text)) return text as Word;
  const near = nearest(text, allowed);
  const hint = near === null ? "" : ` (did you mean "${near}"?)`;
  throw new UsageError(
    `Cannot use "${text}" as --${name}${hint}: it must be one of ${allowed.join(", ")}`,
  );
}
