/**
 * Servers of a test's own, which it may end in any way and start again. Unlike those that tests
 * share they keep what was committed when their process is killed.
 *
 * @module
 */

import { mysqlQuery, postgresQuery } from "./_servers.ts";
import { findPrograms, freePort } from "./_start_servers.ts";

/** A server that nobody else uses. */
export interface OwnServer extends AsyncDisposable {
  /** The address of an empty database in it. */
  readonly url: string;
  /**
   * Ends it and starts it again on the same files. `fast` is an orderly restart that waits for no
   * client; `crash` kills its process.
   */
  restart(mode: RestartMode): Promise<void>;
}

/** How a server is ended. */
export type RestartMode = "fast" | "crash";

/** A kind of server that can be started here. */
export interface OwnKind {
  /** The programs it needs: the one that makes its files, and the server. */
  readonly programs: readonly [string, string];
  /** Whom it runs as when this process is root. */
  readonly uid?: number;
  /** The signal of an orderly end that waits for no client. */
  readonly fastSignal: Deno.Signal;
  /** The arguments of the one that makes its files. */
  install(folder: string): readonly string[];
  /** The arguments of the server. */
  run(folder: string, port: number): readonly string[];
  /** The address of its own database, and of another. */
  url(port: number, database?: string): string;
  /** Asks one statement. */
  ask(url: string, text: string): Promise<unknown>;
}

const HOST = "127.0.0.1";
const NOBODY = 65_534;
const ROOT = Deno.uid() === 0;
const AS_ROOT = ROOT ? ["--user=root"] : [];

/** PostgreSQL, in which a commit survives a crash of the server, though not of the machine. */
export const ownPostgres: OwnKind = {
  programs: ["initdb", "postgres"],
  uid: NOBODY,
  fastSignal: "SIGINT",
  install: (folder) => [
    ...["-D", `${folder}/data`, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
  ],
  run: (folder, port) => [
    ...["-D", `${folder}/data`, "-p", String(port), "-k", folder],
    ...["-c", `listen_addresses=${HOST}`, "-c", "fsync=off", "-c", "max_connections=60"],
    // A deadlock is looked for after a second otherwise, longer than the leases of some tests.
    ...["-c", "deadlock_timeout=50ms"],
    // A crash leaves processes behind for a moment, which hold on to memory of this kind.
    ...["-c", "shared_memory_type=mmap", "-c", "logging_collector=off"],
  ],
  url: (port, database = "postgres") => `postgres://postgres@${HOST}:${port}/${database}`,
  ask: postgresQuery,
};

/** MariaDB, in which a commit survives a crash of the server, though not of the machine. */
export const ownMariadb: OwnKind = {
  programs: ["mariadb-install-db", "mariadbd"],
  fastSignal: "SIGTERM",
  install: (folder) => [
    ...["--no-defaults", ...AS_ROOT, `--datadir=${folder}/data`, "--skip-test-db"],
    "--auth-root-authentication-method=normal",
  ],
  run: (folder, port) => [
    ...["--no-defaults", ...AS_ROOT, `--datadir=${folder}/data`, `--port=${port}`],
    ...[`--bind-address=${HOST}`, `--socket=${folder}/socket`, `--pid-file=${folder}/pid`],
    // What was committed is with the operating system, which survives: only a disk could lose it.
    ...["--skip-name-resolve", "--innodb-flush-log-at-trx-commit=2", "--max-connections=60"],
  ],
  url: (port, database = "mysql") => `mysql://root@${HOST}:${port}/${database}`,
  ask: mysqlQuery,
};

/** Whether a server can be started here; in CI it must be possible, so that nothing is left out. */
export async function canStart(kind: OwnKind): Promise<boolean> {
  return Deno.env.get("CI") === "true" || await findPrograms(kind.programs) !== null;
}

/**
 * Runs a server, says its process id and ends with it. When the standard input ends, because this
 * process has, the server is killed.
 */
const GUARD = 'exec 3<&0; "$@" </dev/null >/dev/null 2>&1 & pid=$!; echo $pid; ' +
  "(read -r _ <&3; kill -s KILL $pid) >/dev/null 2>&1 & wait $pid; kill $! 2>/dev/null";

/** A server that runs. */
interface Running {
  readonly ended: boolean;
  /** Sends a signal and waits for the end. */
  end(signal: Deno.Signal): Promise<void>;
}

async function runGuarded(command: Deno.Command): Promise<Running> {
  const child = command.spawn();
  let ended = false;
  const status = child.status.then(() => void (ended = true));
  const said = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const pid = Number((await said.read()).value);
  return {
    get ended() {
      return ended;
    },
    async end(signal) {
      if (!ended) Deno.kill(pid, signal);
      await status;
      await said.cancel();
      await child.stdin.close().catch(() => {});
    },
  };
}

/** Starts a server on a free port. */
export async function startOwn(kind: OwnKind): Promise<OwnServer> {
  const paths = await findPrograms(kind.programs);
  if (paths === null) throw new Error(`Cannot start a server: ${kind.programs[1]} is not here`);
  const [installer, server] = kind.programs.map((name) => paths.get(name) as string) as [
    string,
    string,
  ];
  const folder = await Deno.makeTempDir({ prefix: "pawl_own_" });
  const who = ROOT && kind.uid !== undefined ? { uid: kind.uid, gid: kind.uid } : {};
  if (who.uid !== undefined) await Deno.chown(folder, who.uid, who.gid);
  const quiet = { cwd: folder, stdout: "null", stderr: "null", ...who } as const;
  const { success } = await new Deno.Command(installer, {
    ...quiet,
    args: [...kind.install(folder)],
  }).output();
  if (!success) throw new Error(`Cannot start a server: ${installer} failed`);
  const port = freePort();
  const run = (): Promise<Running> =>
    runGuarded(
      new Deno.Command("sh", {
        ...quiet,
        args: ["-c", GUARD, "sh", server, ...kind.run(folder, port)],
        stdin: "piped",
        stdout: "piped",
      }),
    );

  /** One that crashed may not be let in again at once: what it left behind is still going. */
  async function begin(): Promise<Running> {
    const deadline = performance.now() + 30_000;
    let running = await run();
    while (true) {
      try {
        await kind.ask(kind.url(port), "SELECT 1");
        return running;
      } catch (error) {
        if (running.ended) {
          await running.end("SIGKILL");
          running = await run();
        }
        if (performance.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  let running = await begin();
  await kind.ask(kind.url(port), "CREATE DATABASE app");
  return {
    url: kind.url(port, "app"),
    async restart(mode) {
      await running.end(mode === "fast" ? kind.fastSignal : "SIGKILL");
      running = await begin();
    },
    async [Symbol.asyncDispose]() {
      await running.end("SIGKILL");
      await Deno.remove(folder, { recursive: true });
    },
  };
}
