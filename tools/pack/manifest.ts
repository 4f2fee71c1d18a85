/**
 * The package.json of the npm package: what `deno pack` writes, and what it leaves out.
 *
 * @module
 */

import { CLIENTS } from "../layers/rules.ts";

/** A package.json, as far as it is read here. */
export interface Manifest {
  /** The package's name. */
  readonly name: string;
  /** Its version. */
  readonly version: string;
  /** Its entries. */
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  /** What is installed with it. */
  readonly dependencies?: Readonly<Record<string, string>>;
  /** What its user installs beside it. */
  readonly peerDependencies?: Readonly<Record<string, string>>;
  /** Which of these may be missing. */
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
  /** Its programs. */
  readonly bin?: Readonly<Record<string, string>>;
  /** Everything else. */
  readonly [field: string]: unknown;
}

/** What only the one who packs knows. */
export interface ManifestOptions {
  /** Where the source is; npm compares it with the provenance of the package. */
  readonly repository?: string | undefined;
}

/** Where the program is in the package. */
export const PROGRAM_PATH = "bin/pawl.js";
/** The program: the entry of the command line, started. */
export const PROGRAM = `#!/usr/bin/env node
import { main } from "../src/cli/main.js";
await main();
`;

const DESCRIPTION = "Durable, resumable, multi-step workflows for TypeScript, in the database " +
  "your application already has";
const KEYWORDS = [
  "workflow",
  "durable",
  "resumable",
  "background-jobs",
  "queue",
  "state-machine",
  "postgres",
  "mysql",
  "mariadb",
  "sqlite",
  "deno",
  "node",
  "typescript",
];

/**
 * Completes a package.json of `deno pack`.
 *
 * That makes each client of a database a dependency of everybody. Here they become peers that may
 * be missing: npm installs none of them, and checks the version of the one that is there.
 */
export function completed(manifest: Manifest, options: ManifestOptions = {}): Manifest {
  const { name, version, license, exports, dependencies = {}, ...rest } = manifest;
  const isClient = (one: string): boolean => Object.hasOwn(CLIENTS, one.replace(/^@types\//, ""));
  const clients = pick(dependencies, isClient);
  const others = pick(dependencies, (one) => !isClient(one));
  return {
    name,
    version,
    description: DESCRIPTION,
    keywords: KEYWORDS,
    license,
    ...(options.repository === undefined
      ? {}
      : { repository: { type: "git", url: options.repository } }),
    engines: { node: ">=22" },
    ...rest,
    bin: { pawl: `./${PROGRAM_PATH}` },
    exports: { ...exports, "./package.json": "./package.json" },
    ...(Object.keys(others).length === 0 ? {} : { dependencies: others }),
    peerDependencies: clients,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(clients).map((client) => [client, { optional: true }]),
    ),
  };
}

function pick(
  record: Readonly<Record<string, string>>,
  wanted: (key: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(record).filter(([key]) => wanted(key)).sort(([a], [b]) => a < b ? -1 : 1),
  );
}
