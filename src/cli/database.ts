/**
 * From what was typed after `--database` to an open store, without ever showing a password.
 *
 * A driver is imported when its database is named, so that nobody needs the client of another one.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { InvalidInputError, PawlError, StoreError } from "../errors.ts";
import type { StoreDriver } from "../seams/store.ts";
import { UsageError } from "./usage.ts";

/** The databases that there is a driver for. */
export type DatabaseKind = "sqlite" | "postgres" | "mysql";

/** A database, as it was named. */
export interface Address {
  /** Which driver opens it. */
  readonly kind: DatabaseKind;
  /** What the driver is given: a path, or a URL. */
  readonly location: string;
  /** What the names of the tables begin with; undefined: the driver's default. */
  readonly tablePrefix?: string | undefined;
  /** The schema of the tables, on PostgreSQL. */
  readonly schema?: string | undefined;
  /** Whether an SQLite file may be made when it is not there. */
  readonly create: boolean;
}

/** What an address is made from. */
export interface AddressOptions extends Omit<Address, "kind" | "location"> {
  /** The folder that relative paths start from. */
  readonly cwd: string;
}

const SCHEMES: Readonly<Record<string, DatabaseKind>> = {
  postgres: "postgres",
  postgresql: "postgres",
  mysql: "mysql",
  mariadb: "mysql",
  sqlite: "sqlite",
  file: "sqlite",
};

/** Reads an address: a URL of a server, `sqlite:` and a path, or the path of an SQLite file. */
export function addressOf(text: string, options: AddressOptions): Address {
  const { cwd, ...rest } = options;
  const scheme = /^([a-z][a-z0-9+]+):/i.exec(text)?.[1]?.toLowerCase();
  const kind = scheme === undefined ? "sqlite" : SCHEMES[scheme];
  if (kind === undefined) {
    throw new UsageError(
      `Cannot open ${masked(text)}: "${scheme}" is not a database that Pawl knows; use ` +
        `postgres://…, mysql://…, sqlite:///path or the path of an SQLite file`,
    );
  }
  if (options.schema !== undefined && kind !== "postgres") {
    throw new UsageError(`Cannot use --schema with ${kind}: only PostgreSQL has schemas`);
  }
  if (kind === "sqlite") return { ...rest, kind, location: pathOf(text, scheme, cwd) };
  return { ...rest, kind, location: text.replace(/^mariadb:/i, "mysql:") };
}

/** `sqlite:///var/app.db` is absolute, `sqlite:app.db` and `sqlite://app.db` start here. */
function pathOf(text: string, scheme: string | undefined, cwd: string): string {
  if (scheme === undefined) return text === ":memory:" ? text : resolve(cwd, text);
  const path = decodeURIComponent(text.slice(scheme.length + 1).replace(/^\/\//, ""));
  if (path === "") throw new UsageError(`Cannot open ${text}: it names no file`);
  return path === ":memory:" ? path : resolve(cwd, path);
}

/** Opens a store; nothing is connected to before its first use. */
export async function openStore(address: Address): Promise<StoreDriver> {
  const { kind, location, tablePrefix, schema, create } = address;
  const prefix = tablePrefix === undefined ? {} : { tablePrefix };
  try {
    switch (kind) {
      case "sqlite": {
        if (!create && location !== ":memory:" && !existsSync(location)) {
          throw new InvalidInputError(
            `Cannot open ${location}: there is no such file; correct --database, ` +
              `or make the database with "pawl migrate"`,
          );
        }
        const { sqliteStore } = await import("../../drivers/sqlite/mod.ts");
        return sqliteStore(location, prefix);
      }
      case "postgres": {
        const { postgresStore } = await import("../../drivers/postgres/mod.ts");
        return postgresStore(location, { ...prefix, ...(schema === undefined ? {} : { schema }) });
      }
      case "mysql": {
        const { mysqlStore } = await import("../../drivers/mysql/mod.ts");
        return mysqlStore(location, prefix);
      }
    }
  } catch (cause) {
    if (cause instanceof PawlError) throw cause;
    const client = kind === "postgres" ? "pg" : "mysql2";
    throw new StoreError(
      kind,
      (cause as { code?: unknown } | null)?.code === "ERR_MODULE_NOT_FOUND"
        ? `Cannot open the database: its client is not installed; run "npm install ${client}"`
        : `Cannot load the driver: ${String(cause)}`,
      { cause },
    );
  }
}

/** `scheme://user:password@`, in the middle of any text. */
const CREDENTIALS = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:@/?#"'`]*):[^\s/?#"'`]*@/gi;
/** The same with a password that should have been escaped: everything up to the last `@`. */
const LOOSE = /^([a-z][a-z0-9+.-]*:\/\/[^\s:@/?#]*):.*@/i;
const SECRET_PARAMETERS =
  /([?&;](?:[a-z]*pass(?:word|wd|phrase)?|pwd|secret|token)=)[^&;#\s"'`]*/gi;

/** A text without the passwords of the URLs in it. */
export function masked(text: string): string {
  return text.replace(CREDENTIALS, "$1:***@").replace(SECRET_PARAMETERS, "$1***");
}

/** Masks the passwords of all URLs, and also the one of this address wherever it stands alone. */
export function maskerFor(url: string | undefined): (text: string) => string {
  const secrets = url === undefined ? [] : secretsIn(url);
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), masked(text));
}

/** Shorter ones would mask half of all words, and protect nothing. */
const SHORTEST_SECRET = 4;

function secretsIn(url: string): string[] {
  const found = LOOSE.exec(url);
  if (found === null) return [];
  const written = url.slice((found[1] as string).length + 1, found[0].length - 1);
  const forms = [written, unescaped(written)];
  return [...new Set(forms)].filter((one) => one.length >= SHORTEST_SECRET);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
