/**
 * The runtimes and compilers that the package is tried with, installed from npm.
 *
 * They are installed once into a folder beside other temporary files, named by what is in it, and
 * stay there for the next run; whatever is under test goes into a folder of its own inside, from
 * where Node finds the tools and clients by looking upward.
 */

import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms } from "../_start_servers.ts";

/** A runtime other than Deno. */
export interface Runtime {
  /** What people call it. */
  readonly name: string;
  /** Its folder among the tools. */
  readonly folder: string;
  /** What it is called in there. */
  readonly program: string;
  /** The arguments that run a file of `node:test`. */
  readonly testing: readonly string[];
}

/** The oldest Node that the package runs on. */
export const NODE_22: Runtime = node(22);
/** The newest Node with long-term support. */
export const NODE_24: Runtime = node(24);
/** The newest Node. */
export const NODE_26: Runtime = node(26);
/** Every Node that the package is tried with. */
export const NODES: readonly Runtime[] = [NODE_22, NODE_24, NODE_26];
/** Bun, which has `node:sqlite` and `node:test` too. */
export const BUN: Runtime = { name: "Bun", folder: "bun", program: "bun", testing: ["test"] };

/** The compilers: the oldest and the newest that the declarations are checked with. */
export const COMPILERS: readonly string[] = ["typescript-5.9", "typescript-7"];

/** The clients of databases and queues, and what the examples and the pages of the guide use. */
const PACKAGES = [
  ...["@nats-io/jetstream", "@nats-io/transport-node", "@types/express", "@types/pg", "bullmq"],
  ...[
    "croner",
    "express",
    "graphile-worker",
    "hono",
    "ioredis",
    "kysely",
    "mysql2",
    "pg",
    "pg-boss",
  ],
];
const ARM = Deno.build.arch === "aarch64";

function node(version: number): Runtime {
  return {
    name: `Node ${version}`,
    folder: `node-${version}`,
    program: "node",
    testing: ["--test", "--test-reporter=tap"],
  };
}

/** Whether npm is here to install anything; in CI it has to be. */
export async function hasNpm(): Promise<boolean> {
  return Deno.env.get("CI") === "true" || await findPrograms(["npm"]) !== null;
}

/** What npm is to install. */
async function manifest(): Promise<Record<string, string>> {
  const lock = await Deno.readTextFile(new URL("../../deno.lock", import.meta.url));
  const { specifiers } = JSON.parse(lock) as { specifiers: Record<string, string> };
  // The versions that Deno runs with; what stands behind an underscore are those of their peers.
  const versions = PACKAGES.map((name) => {
    const [, version] = Object.entries(specifiers).find(([one]) =>
      one.startsWith(`npm:${name}@`)
    ) ?? [];
    return [name, version?.split("_")[0]];
  });
  const { os } = Deno.build;
  // A processor without AVX2 can run the baseline, and every other one too.
  const bun = ARM ? `${os}-aarch64` : `${os}-x64-baseline`;
  return {
    ...Object.fromEntries(versions),
    "@types/node": "^22.0.0",
    "typescript-5.9": "npm:typescript@~5.9.0",
    "typescript-7": "npm:typescript@^7.0.0",
    "node-22": `npm:node-${os}-${ARM ? "arm64" : "x64"}@^22.0.0`,
    "node-24": `npm:node-${os}-${ARM ? "arm64" : "x64"}@^24.0.0`,
    "node-26": `npm:node-${os}-${ARM ? "arm64" : "x64"}@^26.0.0`,
    "bun": `npm:@oven/bun-${bun}@^1.4.0`,
  };
}

/** Installs the tools if they are not there yet, and answers their folder. */
export async function installTools(): Promise<string> {
  const text = JSON.stringify({ private: true, dependencies: await manifest() }, null, 2);
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const folder = join(tmpdir(), `pawl_node_tools_${digest}`);
  if (await exists(folder)) return folder;
  // Under another name until it is complete, so that nobody finds half of it.
  const making = await Deno.makeTempDir({ prefix: "pawl_node_tools_" });
  try {
    await Deno.writeTextFile(join(making, "package.json"), text);
    await npm(making, ["install"]);
    await Deno.rename(making, folder).catch(async (error) => {
      // Another run may have been quicker.
      if (!await exists(folder)) throw error;
    });
    return folder;
  } finally {
    await Deno.remove(making, { recursive: true }).catch(() => {});
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** Runs npm in a folder; no package may run a script of its own. */
export async function npm(folder: string, args: readonly string[]): Promise<void> {
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  const { code, output } = await runProgram("npm", {
    args: [...args, "--prefix", folder, "--prefer-offline", "--ignore-scripts", ...quiet],
    cwd: folder,
  });
  if (code !== 0) throw new Error(`Cannot run npm ${args.join(" ")}: it said\n${output}`);
}

/** What a program did. */
export interface Outcome {
  /** Its exit code. */
  readonly code: number;
  /** What it printed, errors after the rest. */
  readonly output: string;
}

const LIMIT_MS = 180_000;

/** Runs a program to its end; one that does not come to it is killed. */
export async function runProgram(
  program: string,
  options: Pick<Deno.CommandOptions, "args" | "cwd" | "env">,
): Promise<Outcome> {
  const child = new Deno.Command(program, {
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...options,
  }).spawn();
  let late = "";
  const limit = setTimeout(() => {
    late = `\n${program} did not end within ${LIMIT_MS / 1_000} seconds`;
    child.kill("SIGKILL");
  }, LIMIT_MS);
  const { code, stdout, stderr } = await child.output();
  clearTimeout(limit);
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) + late };
}
