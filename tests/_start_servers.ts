/**
 * Starts database servers of our own for tests, from the binaries of the machine.
 *
 * Each lives in a temporary folder, on a free port of the loopback interface, with durability
 * switched off: it is thrown away anyway. A server is no child of ours, because a child that outlives
 * a test counts as a leak; a small watchdog in the shell waits for the owning process to end,
 * however it ends, and then stops the server and removes its folder.
 *
 * @module
 */

/** A server that was started. */
export interface Started {
  /** Where it listens, as `host:port`. */
  readonly address: string;
  /** Its folder, which goes when it goes. */
  readonly folder: string;
}

/** A kind of server that can be started here. */
export interface Launcher {
  /** The programs it needs. */
  readonly programs: readonly string[];
  /** The Debian package that has them. */
  readonly package: string;
  /** How it is asked to go: the fastest way that leaves nothing behind. */
  readonly stopSignal: "QUIT" | "KILL";
  /** Prepares the folder and starts the server; answers its process id. */
  launch(where: Place): Promise<number>;
}

/** Where a server is to live. */
export interface Place {
  /** An empty folder. */
  readonly folder: string;
  /** A free port. */
  readonly port: number;
  /** The full path of each program. */
  readonly path: (program: string) => string;
  /** Who runs it: PostgreSQL refuses to run as root. */
  readonly user: { readonly uid?: number; readonly gid?: number };
}

const NOBODY = 65534;
const HOST = "127.0.0.1";

/** PostgreSQL, without a password for the user `postgres`. */
export const postgresLauncher: Launcher = {
  programs: ["initdb", "pg_ctl"],
  package: "postgresql",
  stopSignal: "QUIT",
  async launch({ folder, port, path, user }): Promise<number> {
    const data = `${folder}/data`;
    const common = { ...user, cwd: folder };
    await run(path("initdb"), {
      args: ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
      ...common,
    });
    const settings = [
      `-p ${port} -k ${folder}`,
      `-c listen_addresses=${HOST} -c max_connections=200`,
      "-c fsync=off -c synchronous_commit=off -c full_page_writes=off",
    ].join(" ");
    await run(path("pg_ctl"), {
      args: ["start", "-w", "-D", data, "-l", `${folder}/log`, "-o", settings],
      ...common,
    });
    const lines = await Deno.readTextFile(`${data}/postmaster.pid`);
    return Number(lines.split("\n")[0]);
  },
};

/** MariaDB, without a password for the user `root`. */
export const mariadbLauncher: Launcher = {
  programs: ["mariadbd", "mariadb-install-db"],
  package: "mariadb-server",
  stopSignal: "KILL",
  async launch({ folder, port, path }): Promise<number> {
    const data = `${folder}/data`;
    const asRoot = Deno.uid() === 0 ? ["--user=root"] : [];
    await run(path("mariadb-install-db"), {
      args: [
        "--no-defaults",
        ...asRoot,
        `--datadir=${data}`,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
      ],
      cwd: folder,
    });
    await inBackground(path("mariadbd"), [
      "--no-defaults",
      ...asRoot,
      `--datadir=${data}`,
      `--port=${port}`,
      `--bind-address=${HOST}`,
      `--socket=${folder}/socket`,
      `--pid-file=${folder}/pid`,
      `--log-error=${folder}/log`,
      "--skip-name-resolve",
      "--innodb-flush-log-at-trx-commit=0",
    ]);
    return await pidIn(`${folder}/pid`);
  },
};

/** Redis, which keeps nothing. */
export const redisLauncher: Launcher = {
  programs: ["redis-server"],
  package: "redis-server",
  stopSignal: "KILL",
  async launch({ folder, port, path }): Promise<number> {
    await run(path("redis-server"), {
      args: [
        ...["--port", String(port), "--bind", HOST, "--save", "", "--dir", folder],
        ...["--daemonize", "yes", "--pidfile", `${folder}/pid`],
      ],
    });
    return await pidIn(`${folder}/pid`);
  },
};

/** NATS with JetStream, which keeps its streams in its folder. */
export const natsLauncher: Launcher = {
  programs: ["nats-server"],
  package: "nats-server",
  stopSignal: "KILL",
  async launch({ folder, port, path }): Promise<number> {
    await inBackground(path("nats-server"), [
      ...["--addr", HOST, "--port", String(port), "--jetstream", "--store_dir", folder],
      ...["--pid", `${folder}/pid`],
    ]);
    return await pidIn(`${folder}/pid`);
  },
};

/** Starts a server that goes when this process goes; null when its programs are not here. */
export async function start(launcher: Launcher): Promise<Started | null> {
  const paths = await findPrograms(launcher.programs);
  if (paths === null) return null;
  const folder = await Deno.makeTempDir({ prefix: "pawl_test_" });
  const isRoot = Deno.uid() === 0;
  if (isRoot) await Deno.chown(folder, NOBODY, NOBODY);
  const port = freePort();
  try {
    const pid = await launcher.launch({
      folder,
      port,
      path: (program) => paths.get(program) as string,
      user: isRoot ? { uid: NOBODY, gid: NOBODY } : {},
    });
    await watch(pid, launcher.stopSignal, folder);
  } catch (error) {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    throw error;
  }
  return { address: `${HOST}:${port}`, folder };
}

/** Whether Debian's packages may be installed: never on somebody's own machine. */
export async function mayInstall(): Promise<boolean> {
  return Deno.env.get("CI") === "true" && Deno.uid() === 0 &&
    await findPrograms(["apt-get"]) !== null;
}

/** Installs the Debian package of a server. */
export async function install(launcher: Launcher): Promise<void> {
  console.log(`Installing ${launcher.package} for the tests`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const patience = ["-qq", "-o", "DPkg::Lock::Timeout=300"];
  await run("apt-get", { args: [...patience, "update"], env });
  const args = [...patience, "install", "-y", "--no-install-recommends", launcher.package];
  await run("apt-get", { args, env });
}

/** The full paths of programs, or null when one of them is not here. */
export async function findPrograms(
  names: readonly string[],
): Promise<ReadonlyMap<string, string> | null> {
  const folders = [
    ...(Deno.env.get("PATH") ?? "").split(":"),
    ...await debianPostgresFolders(),
    "/usr/local/sbin",
    "/usr/sbin",
    "/opt/homebrew/bin",
  ];
  const found = new Map<string, string>();
  for (const name of names) {
    for (const folder of folders) {
      if (found.has(name) || folder === "") continue;
      const info = await Deno.stat(`${folder}/${name}`).catch(() => null);
      if (info?.isFile) found.set(name, `${folder}/${name}`);
    }
  }
  return found.size === names.length ? found : null;
}

/** Debian keeps the programs of PostgreSQL off the PATH, by version; the newest comes first. */
async function debianPostgresFolders(): Promise<string[]> {
  const root = "/usr/lib/postgresql";
  const versions: string[] = [];
  try {
    for await (const entry of Deno.readDir(root)) versions.push(entry.name);
  } catch {
    // Not Debian, or no PostgreSQL: the PATH is all there is.
  }
  return versions.sort((a, b) => Number(b) - Number(a)).map((name) => `${root}/${name}/bin`);
}

/** A port of the loopback interface that nobody listens on. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

async function run(
  program: string,
  options: Pick<Deno.CommandOptions, "args" | "cwd" | "env" | "uid" | "gid">,
): Promise<void> {
  // A server that goes to the background keeps what it inherited: a pipe would never end.
  const log = await Deno.makeTempFile({ prefix: "pawl_test_log_" });
  try {
    if (options.uid !== undefined) await Deno.chown(log, options.uid, options.gid ?? null);
    const { args = [], ...rest } = options;
    const { code } = await new Deno.Command("sh", {
      args: ["-c", 'log=$1; shift; exec "$@" </dev/null >"$log" 2>&1', "sh", log, program, ...args],
      stdin: "null",
      ...rest,
    }).output();
    if (code === 0) return;
    const said = (await Deno.readTextFile(log)).trim();
    throw new Error(`Cannot run ${program}: it ended with ${code}; it said:\n${said}`);
  } finally {
    await Deno.remove(log);
  }
}

/** Starts a program that does not go to the background by itself. */
async function inBackground(program: string, args: readonly string[]): Promise<void> {
  await run("sh", { args: ["-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", program, ...args] });
}

/** The process id that a server wrote down once it was ready to. */
async function pidIn(path: string): Promise<number> {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    const text = await Deno.readTextFile(path).catch(() => "");
    const pid = Number(text.trim());
    if (pid > 0) return pid;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Cannot start the server: it wrote no process id to ${path} within 30 seconds`);
}

/** A process that ended but that nobody has waited for yet is not alive either. */
const WATCHDOG = `
alive() { kill -0 "$1" 2>/dev/null && ! grep -q ') Z ' "/proc/$1/stat" 2>/dev/null; }
( trap '' INT TERM HUP
  while alive "$1"; do sleep 0.2; done
  kill -s "$3" "$2" 2>/dev/null
  while alive "$2"; do sleep 0.1; done
  rm -rf "$4"
) </dev/null >/dev/null 2>&1 &`;

/** Leaves a watchdog behind that stops the server once this process is gone. */
async function watch(pid: number, signal: string, folder: string): Promise<void> {
  await run("sh", { args: ["-c", WATCHDOG, "sh", `${Deno.pid}`, `${pid}`, signal, folder] });
}
