/**
 * A server of a test's own, which it may stop, kill and start again. It keeps its files and its port
 * until it is disposed of, and goes when this process goes.
 *
 * @module
 */

import { findPrograms, freePort } from "./_start_servers.ts";

/** What is started, and how one knows that it is there. */
export interface OwnServerKind {
  /** The program. */
  readonly program: string;
  /** Its arguments, for a folder and a port of its own. */
  args(folder: string, port: number): readonly string[];
  /** Makes the files that it needs, once. */
  prepare?(folder: string): Promise<void>;
  /** Resolves when it answers; rejects when it does not yet. */
  ask(address: string): Promise<unknown>;
}

/** A server that can be killed and started again. */
export interface OwnServer extends AsyncDisposable {
  /** Where it listens, as `host:port`. */
  readonly address: string;
  /** Kills it, as a power cut of its process would. */
  kill(): Promise<void>;
  /** Starts it again on the same files; resolves when it answers. */
  start(): Promise<void>;
  /** Both; in between, these files are written into its folder. */
  restart(files?: Readonly<Record<string, string>>): Promise<void>;
}

/** The server goes when its standard input does, and so when this process does. */
const GUARD = '"$@" </dev/null >/dev/null 2>&1 & cat >/dev/null; kill -s KILL $!; wait $!';
const HOST = "127.0.0.1";
const READY_MS = 30_000;

/** Starts a server on a free port. */
export async function ownServer(kind: OwnServerKind): Promise<OwnServer> {
  const path = (await findPrograms([kind.program]))?.get(kind.program);
  if (path === undefined) throw new Error(`Cannot start a server: ${kind.program} is not here`);
  const folder = await Deno.makeTempDir({ prefix: "pawl_own_" });
  const port = freePort();
  const address = `${HOST}:${port}`;
  await kind.prepare?.(folder);
  let child: Deno.ChildProcess | null = null;

  async function start(): Promise<void> {
    child = new Deno.Command("sh", {
      args: ["-c", GUARD, "sh", path as string, ...kind.args(folder, port)],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await untilItAnswers(() => kind.ask(address));
  }

  async function kill(): Promise<void> {
    if (child === null) return;
    await child.stdin.close();
    await child.status;
    child = null;
  }

  await start();
  return {
    address,
    kill,
    start,
    async restart(files = {}) {
      await kill();
      for (const [name, text] of Object.entries(files)) {
        await Deno.writeTextFile(`${folder}/${name}`, text);
      }
      await start();
    },
    async [Symbol.asyncDispose]() {
      await kill();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function untilItAnswers(ask: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + READY_MS;
  while (true) {
    try {
      return void await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
