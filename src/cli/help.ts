/**
 * The help: for all commands, and for each with its examples.
 *
 * @module
 */

import { type Command, COMMON_OPTIONS, type OptionSpec } from "./command.ts";
import type { Palette } from "./style.ts";

const WIDTH = 96;

/** The help for all commands. */
export function overview(commands: readonly Command[], palette: Palette): string {
  const width = Math.max(...commands.map((one) => one.name.length));
  return [
    `${palette.bold("pawl")}: durable workflows in your own database`,
    "",
    palette.bold("Usage"),
    "  pawl <command> [options]",
    "",
    palette.bold("Commands"),
    ...commands.map((one) => `  ${one.name.padEnd(width)}  ${one.summary}`),
    "",
    palette.bold("Options of all commands"),
    ...optionLines(COMMON_OPTIONS),
    "",
    palette.bold("Exit codes"),
    "  0 done · 1 failed or refused · 2 wrong usage · 3 check found trouble",
    "",
    "Help and examples of one command: pawl <command> --help",
  ].join("\n");
}

/** The help for one command. */
export function helpFor(command: Command, palette: Palette): string {
  const { name, words, summary, about, options, examples, shape } = command;
  const usage = ["pawl", name, words, "[options]"].filter((part) => part !== "").join(" ");
  const own = optionLines(options);
  return [
    `${palette.bold(`pawl ${name}`)}: ${summary}`,
    "",
    palette.bold("Usage"),
    `  ${usage}`,
    ...about.flatMap((paragraph) => ["", ...wrapped(paragraph, "")]),
    "",
    palette.bold("Examples"),
    ...examples.flatMap(([typed, what]) => [`  ${palette.dim(`# ${what}`)}`, `  ${typed}`]),
    ...(own.length === 0 ? [] : ["", palette.bold("Options"), ...own]),
    "",
    palette.bold("Options of all commands"),
    ...optionLines(COMMON_OPTIONS),
    "",
    palette.bold("What --json prints"),
    ...shape.split("\n").map((line) => `  ${line}`),
  ].join("\n");
}

function optionLines(options: Readonly<Record<string, OptionSpec>>): string[] {
  const heads = Object.entries(options).map(([name, { value, short, about }]) => {
    const letter = short === undefined ? "" : `-${short}, `;
    return { head: `${letter}--${name}${value === undefined ? "" : ` ${value}`}`, about };
  });
  const width = Math.max(...heads.map(({ head }) => head.length));
  return heads.flatMap(({ head, about }) => {
    const [first, ...rest] = wrapped(about, " ".repeat(width + 4));
    return [`  ${head.padEnd(width)}  ${(first as string).trimStart()}`, ...rest];
  });
}

/** Breaks a paragraph into lines, each with an indent. */
export function wrapped(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent.length + line.length + 1 + word.length > WIDTH) {
      lines.push(indent + line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, indent + line];
}
