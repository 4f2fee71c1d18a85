/**
 * `deno task pack`: makes the npm package, `<folder>/pawl-<version>.tgz`.
 *
 * `deno pack` turns the sources into JavaScript with declarations; this completes its package.json,
 * adds the program `pawl`, leaves out sources that no entry reaches, and packs it again, byte for
 * byte the same each time. `--out` names the folder (default: this one), `--repository` the URL of
 * the source, which npm wants to see in a package with provenance.
 *
 * @module
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { completed, type Manifest, PROGRAM, PROGRAM_PATH } from "./pack/manifest.ts";
import { pack, type PackedFile, unpack } from "./pack/tar.ts";

const ROOT = new URL("../", import.meta.url);
const PREFIX = "package/";
const MANIFEST = `${PREFIX}package.json`;
/** What every package must have, whatever `deno pack` thinks. */
const REQUIRED = ["README.md", "LICENSE", "mod.js", "mod.d.ts", "src/cli/main.js"];

/** Where a package goes, and what its package.json says beyond the usual. */
export interface PackOptions {
  /** The folder. */
  readonly out: string;
  /** The URL of the source. */
  readonly repository?: string | undefined;
}

/** Makes the package and answers its path. */
export async function packPackage(options: PackOptions): Promise<string> {
  const files = completedFiles(await denoPack(), options);
  const { version } = manifestIn(files);
  await Deno.mkdir(options.out, { recursive: true });
  const path = `${options.out}/pawl-${version}.tgz`;
  await Deno.writeFile(path, pack(files));
  return path;
}

/** The files of the package, from those that `deno pack` made. */
export function completedFiles(
  made: readonly PackedFile[],
  options: Pick<PackOptions, "repository"> = {},
): PackedFile[] {
  const manifest = completed(manifestIn(made), options);
  // What no entry reaches is passed on as it is: TypeScript that Node would not read.
  const kept = made.filter(({ path }) =>
    path !== MANIFEST && (path.endsWith(".d.ts") || !path.endsWith(".ts"))
  );
  for (const name of REQUIRED) {
    if (kept.some(({ path }) => path === PREFIX + name)) continue;
    throw new Error(`Cannot pack: ${name} is missing; check exports and publish in deno.json`);
  }
  const encoder = new TextEncoder();
  return [
    ...kept,
    { path: MANIFEST, bytes: encoder.encode(`${JSON.stringify(manifest, null, 2)}\n`) },
    { path: PREFIX + PROGRAM_PATH, bytes: encoder.encode(PROGRAM), executable: true },
  ];
}

async function denoPack(): Promise<PackedFile[]> {
  const folder = await Deno.makeTempDir({ prefix: "pawl_pack_" });
  try {
    const path = `${folder}/package.tgz`;
    // Without source maps, because these name the folders of this machine.
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["pack", "--allow-dirty", "--no-source-maps", "--output", path],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
      stdin: "null",
    }).output();
    if (success) return unpack(await Deno.readFile(path));
    const decoder = new TextDecoder();
    throw new Error(
      `Cannot pack: deno pack failed; it said:\n${decoder.decode(stdout)}${decoder.decode(stderr)}`,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function manifestIn(files: readonly PackedFile[]): Manifest {
  const file = files.find(({ path }) => path === MANIFEST);
  if (file === undefined) throw new Error("Cannot pack: deno pack made no package.json");
  return JSON.parse(new TextDecoder().decode(file.bytes));
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { out: { type: "string", default: "." }, repository: { type: "string" } },
  });
  console.log(await packPackage({ out: values.out, repository: values.repository }));
  return 0;
}

if (import.meta.main) process.exitCode = await main(Deno.args);
