/**
 * Types what the guide to operations says into a shell, and compares what it prints with what the
 * guide shows. `deno run -A tests/cli/_guide.ts` writes into the guide what was printed.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startProgram } from "./_process.ts";

const ROOT = new URL("../../", import.meta.url);
export const GUIDE: URL = new URL("docs/guide/operations.md", ROOT);

/** One thing that the guide lets happen: something typed, and what is shown for it, if anything. */
export interface Act {
  /** What is typed. */
  readonly typed: string;
  /** Where in the guide its output stands: after the opening fence, before the closing one. */
  readonly shown: readonly [number, number] | null;
}

const BLOCK = /^```(sh|text)\n([\s\S]*?)^```$|^<!-- until: (.*) -->$/gm;

/** The acts of a guide, in order. */
export function actsOf(text: string): Act[] {
  const acts: Act[] = [];
  for (const match of text.matchAll(BLOCK)) {
    const [, kind, body = "", condition] = match;
    if (condition !== undefined) {
      const until = `for i in $(seq 200); do ${condition} && break; sleep 0.05; done; ${condition}`;
      acts.push({ typed: `${until} || echo "waited in vain"`, shown: null });
    } else if (kind === "sh") acts.push({ typed: body.trimEnd(), shown: null });
    else {
      const start = match.index + "```text\n".length;
      const last = acts.at(-1);
      assert.ok(last !== undefined && last.shown === null, `output without a command at ${start}`);
      acts[acts.length - 1] = { ...last, shown: [start, start + body.length] };
    }
  }
  return acts;
}

/** Types the acts into one shell, in a folder with the shop of the guide; answers what was printed. */
export async function typeAll(acts: readonly Act[], database: string): Promise<string[]> {
  const folder = await Deno.makeTempDir({ prefix: "pawl_guide_" });
  const shop = join(folder, "operations");
  await Deno.mkdir(shop);
  for (const name of ["payments.ts", "start.ts"]) {
    const text = await Deno.readTextFile(new URL(`examples/operations/${name}`, ROOT));
    await Deno.writeTextFile(join(shop, name), withRealImports(text));
  }
  const main = fileURLToPath(new URL("src/cli/main.ts", ROOT));
  const config = fileURLToPath(new URL("deno.json", ROOT));
  const deno = Deno.execPath();
  const script = [
    // The shop has no deno.json of its own, which would name the clients of databases.
    `deno() { "${deno}" run --config "${config}" "${"$"}{@:2}"; }`,
    `trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT`,
    ...acts.flatMap(({ typed }, at) => [
      `echo "@@@ ${at}"`,
      typed.replace(/^alias pawl=.*$/m, `pawl() { "${deno}" run -A --no-check "${main}" "$@"; }`)
        .replace(/^cd examples\/operations$/m, "")
        .replace(/^export PAWL_DATABASE=.*$/m, `export PAWL_DATABASE='${database}'`)
        .replace("/tmp/shop.db*", "")
        // A job of a shell function is the shell's, and a signal would end that.
        .replace(/^pawl worker (.*) &$/m, `"${deno}" run -A --no-check "${main}" worker $1 &`),
    ]),
    `echo "@@@ end"`,
  ].join("\n");
  try {
    const { out } = await startProgram("bash", ["-c", `{ ${script}\n} 2>&1`], { cwd: shop }).ended;
    const parts = out.split(/^@@@ \w+\n/m).slice(1, -1);
    assert.equal(parts.length, acts.length, out);
    return parts.map((part) => part.replaceAll(`${folder}/`, "/srv/"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The shop lies outside of the project here, where its own name does not resolve. */
function withRealImports(text: string): string {
  const entries: Readonly<Record<string, string>> = {
    "@pawl/pawl": "mod.ts",
    "@pawl/pawl/sqlite": "drivers/sqlite/mod.ts",
    "@pawl/pawl/postgres": "drivers/postgres/mod.ts",
    "@pawl/pawl/mysql": "drivers/mysql/mod.ts",
  };
  return text.replace(
    /"(@pawl\/pawl[\w/]*)"/g,
    (_, name: string) => JSON.stringify(new URL(entries[name] as string, ROOT).href),
  );
}

/** What is the same every time: without times, durations, places in files and scales. */
export function timeless(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replace(/\d+(?:\.\d+)? (?:ms|s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?/g, "<duration>")
    .replace(/[\d.]+ per second.*$/gm, "<speed>")
    .replace(/(?<=^ {2}\S {2}.*)[░█][░█ ]*/gm, "█")
    .replace(/Applied [\w, ]+/, "Applied <migrations>")
    .replace(/execution \d+/g, "execution <id>")
    .replace(/:\d+:\d+\)/g, ")").replace(/\d+ more frames/, "more frames")
    .replace(/ +/g, " ").trimEnd();
}

if (import.meta.main) {
  const text = await Deno.readTextFile(GUIDE);
  const acts = actsOf(text);
  const folder = await Deno.makeTempDir();
  const printed = await typeAll(acts, `${folder}/app.db`);
  await Deno.remove(folder, { recursive: true });
  let written = text;
  for (const [at, { shown }] of [...acts.entries()].reverse()) {
    if (shown === null) continue;
    const output = (printed[at] as string).replace(/[ \t]+$/gm, "");
    written = written.slice(0, shown[0]) + output + written.slice(shown[1]);
  }
  await Deno.writeTextFile(GUIDE, written);
  for (const [at, { typed, shown }] of acts.entries()) {
    if (shown === null && printed[at] !== "") console.log(`${typed}\n=> ${printed[at]}`);
  }
}
