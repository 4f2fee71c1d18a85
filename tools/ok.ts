/**
 * `deno task ok`: the one command that decides whether a change is done.
 *
 * Runs each part in turn and stops at the first that fails; what a part printed is shown only then.
 * `--keep-going` runs the rest all the same, `--only a,b` and `--skip a,b` choose parts.
 *
 * @module
 */

import process from "node:process";
import { parseArgs } from "node:util";

const ROOT = new URL("../", import.meta.url);

/** One part of the check. */
export interface Part {
  /** Its name on the command line. */
  readonly name: string;
  /** What it proves. */
  readonly title: string;
  /** The arguments of deno. */
  readonly args: readonly string[];
  /** Whether its output is shown as it comes. */
  readonly live?: boolean;
}

/** All parts, the quickest first; `entries` are the published files, `guides` the Markdown ones. */
export function partsOf(files: {
  readonly entries: readonly string[];
  readonly guides: readonly string[];
}): Part[] {
  const { entries, guides } = files;
  return [
    { name: "fmt", title: "formatting", args: ["fmt", "--check"] },
    { name: "lint", title: "lint", args: ["lint"] },
    { name: "layers", title: "imports go down", args: ["run", "-A", "tools/check_layers.ts"] },
    {
      name: "embed",
      title: "embedded migrations are fresh",
      args: ["run", "-A", "tools/embed_migrations.ts", "--check"],
    },
    { name: "check", title: "types", args: ["check", "."] },
    // In one call, because a type that one entry exports may appear in another.
    { name: "doc", title: "every export is documented", args: ["doc", "--lint", ...entries] },
    {
      name: "doc-test",
      title: "examples in the documentation run",
      args: ["test", "--doc", "--allow-all", "mod.ts", "src/", "drivers/", ...guides],
    },
    {
      name: "test",
      title: "tests on all databases",
      args: ["run", "-A", "tools/test.ts"],
      live: true,
    },
    {
      name: "bench",
      title: "the benchmark runs (its times are not judged)",
      args: ["run", "-A", "bench/main.ts", "--quick", "--rounds", "1"],
    },
    {
      name: "publish",
      title: "the package can be published",
      args: ["publish", "--dry-run", "--allow-dirty"],
    },
  ];
}

/** The parts that were asked for; a name that is no part is an error. */
export function choose(
  parts: readonly Part[],
  options: { readonly only?: string | undefined; readonly skip?: string | undefined },
): Part[] {
  const listed = (text: string | undefined): string[] => {
    const names = (text ?? "").split(",").filter((name) => name !== "");
    for (const name of names) {
      if (parts.some((part) => part.name === name)) continue;
      const known = parts.map((part) => part.name).join(", ");
      throw new Error(`Cannot choose "${name}": there is no such part; choose from ${known}`);
    }
    return names;
  };
  const only = listed(options.only);
  const skip = listed(options.skip);
  return parts.filter(({ name }) =>
    (only.length === 0 || only.includes(name)) && !skip.includes(name)
  );
}

async function findParts(): Promise<Part[]> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const entries = Object.values(config.exports as Record<string, string>);
  const guides: string[] = [];
  for (const folder of [".", "docs", "docs/guide"]) {
    for await (const entry of Deno.readDir(new URL(`${folder}/`, ROOT))) {
      if (entry.isFile && entry.name.endsWith(".md")) guides.push(`${folder}/${entry.name}`);
    }
  }
  return partsOf({ entries, guides: guides.sort() });
}

/** Runs parts in turn, up to the first failure or all of them; answers the names that failed. */
export async function runParts(parts: readonly Part[], keepGoing: boolean): Promise<string[]> {
  const failed: string[] = [];
  for (const part of parts) {
    if (await run(part)) continue;
    failed.push(part.name);
    if (!keepGoing) break;
  }
  console.log(failed.length === 0 ? "Everything is ok" : `Not ok: ${failed.join(", ")}`);
  return failed;
}

/** Runs one part; prints a line about it, and its output when it failed. */
async function run(part: Part): Promise<boolean> {
  const startedAt = performance.now();
  const how = part.live ? "inherit" : "piped";
  const child = new Deno.Command(Deno.execPath(), {
    args: [...part.args],
    cwd: ROOT,
    stdin: "null",
    stdout: how,
    stderr: how,
  }).spawn();
  const output = part.live ? null : await child.output();
  const { success } = output ?? await child.status;
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  if (!success && output !== null) {
    await Deno.stdout.write(output.stdout);
    await Deno.stdout.write(output.stderr);
  }
  console.log(`${success ? "✓" : "✗"} ${part.name}: ${part.title} (${seconds} s)`);
  if (!success) console.log(`  deno ${part.args.join(" ")}`);
  return success;
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "keep-going": { type: "boolean", default: false },
      only: { type: "string" },
      skip: { type: "string" },
    },
  });
  const failed = await runParts(choose(await findParts(), values), values["keep-going"]);
  return failed.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main(Deno.args);
