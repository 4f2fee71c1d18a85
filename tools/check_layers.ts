/**
 * `deno run -A tools/check_layers.ts`: proves that imports only go down, that nothing runs in a
 * circle, and that the library stays portable. Prints each violation and exits with 1 if there is
 * one.
 *
 * @module
 */

import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { checkLayers, describe, type Source } from "./layers/check.ts";

const ROOT = new URL("../", import.meta.url);
const FOLDERS = ["src", "drivers"];

/** The files of the library: mod.ts and everything in src/ and drivers/. */
export async function librarySources(root: URL = ROOT): Promise<Source[]> {
  const paths: string[] = [];
  for (const folder of FOLDERS) {
    const names = await readdir(new URL(`${folder}/`, root), { recursive: true });
    for (const name of names) {
      if (name.endsWith(".ts")) paths.push(`${folder}/${name.replaceAll("\\", "/")}`);
    }
  }
  const top = await readdir(fileURLToPath(root));
  if (top.includes("mod.ts")) paths.push("mod.ts");
  const read = async (path: string): Promise<Source> => ({
    path,
    text: await readFile(new URL(path, root), "utf8"),
  });
  return await Promise.all(paths.sort().map(read));
}

if (import.meta.main) {
  const sources = await librarySources();
  const violations = checkLayers(sources);
  for (const violation of violations) console.error(describe(violation));
  console.log(
    violations.length === 0
      ? `${sources.length} files, every import goes down`
      : `${violations.length} violations in ${sources.length} files`,
  );
  process.exitCode = violations.length === 0 ? 0 : 1;
}
