/**
 * A project of somebody who uses the package: made from the tarball that would be published.
 */

import { join } from "node:path";
import { packPackage } from "../../tools/pack.ts";
import { installTools, NODE_24, npm, type Outcome, runProgram, type Runtime } from "./_tools.ts";

/** The project, with everything installed. */
export interface Project {
  /** Its folder. */
  readonly folder: string;
  /** The package, as npm would fetch it. */
  readonly tarball: string;
  /** Where the program of a runtime is. */
  programOf(runtime: Runtime): string;
  /** Runs a file with a runtime, or its tests. */
  run(runtime: Runtime, args: readonly string[], env?: Record<string, string>): Promise<Outcome>;
  /** Runs a compiler, with the types of Node, in the project or in another folder. */
  compile(compiler: string, args: readonly string[], where?: string): Promise<Outcome>;
  /** Removes it. */
  remove(): Promise<void>;
}

const HERE = new URL("./", import.meta.url);
const FILES = [
  ...["conformance.mjs", "engine.mjs", "_stores.mjs", "_worker.mjs"],
  ...["every_entry.ts", "nats_entry.ts"],
];

/** Packs, and installs what was packed as npm does for its users. */
export async function makeProject(): Promise<Project> {
  const tools = await installTools();
  const folder = await Deno.makeTempDir({ dir: tools, prefix: "project_" });
  let tarball: string;
  try {
    tarball = await packPackage({ out: folder });
    await installIn(folder, tarball);
    for (const file of FILES) await Deno.copyFile(new URL(file, HERE), join(folder, file));
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    throw error;
  }
  const programOf = ({ folder, program }: Runtime): string =>
    join(tools, "node_modules", folder, "bin", program);
  return {
    folder,
    tarball,
    programOf,
    run: (runtime, args, env = {}) =>
      runProgram(programOf(runtime), { args: [...args], cwd: folder, env }),
    compile: (compiler, args, where = folder) =>
      runProgram(programOf(NODE_24), {
        args: [
          join(tools, "node_modules", compiler, "bin/tsc"),
          ...["--typeRoots", join(tools, "node_modules/@types"), "--types", "node"],
          ...args,
        ],
        cwd: where,
      }),
    remove: () => Deno.remove(folder, { recursive: true }),
  };
}

/**
 * One project for all tests of a file, made when the first of them needs it and removed after the
 * last; why it cannot be made is said once.
 */
export function sharedProject(): () => Promise<Project> {
  let made: Promise<Project> | null = null;
  Deno.test.afterAll(async () => {
    const project = await made?.catch(() => null);
    await project?.remove();
  });
  return async () => {
    if (made === null) return await (made = makeProject());
    return await made.catch(() => {
      throw new Error("Cannot test: there is no package; see the first failure");
    });
  };
}

/** Installs the package, and nothing else, into a folder; it needs nothing from the network. */
export async function installIn(folder: string, tarball: string): Promise<void> {
  const dependencies = { "@pawl/pawl": `file:${tarball}` };
  const text = JSON.stringify({ private: true, type: "module", dependencies });
  await Deno.writeTextFile(join(folder, "package.json"), text);
  await npm(folder, ["install", "--offline"]);
}
