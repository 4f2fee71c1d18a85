/**
 * Embeds the migrations: `migrations/<dialect>/*.sql` become `drivers/<dialect>/migrations.gen.ts`,
 * so that a published driver needs no file access to install its schema.
 *
 * `deno run -A tools/embed_migrations.ts [--check]`; with `--check` nothing is written, and the
 * exit code is 1 when a generated file is stale.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** A generated file: where it belongs and what it must hold. */
export interface Generated {
  /** The path, from the project's root. */
  readonly path: string;
  /** The text. */
  readonly text: string;
}

/** The text of the module that embeds these migrations of one dialect. */
export function moduleOf(dialect: string, files: readonly { name: string; sql: string }[]): string {
  const entries = files.map(({ name, sql }) =>
    [
      "  {",
      `    name: ${JSON.stringify(name)},`,
      `    checksum: ${JSON.stringify(checksumOf(sql))},`,
      `    breaking: ${isBreaking(sql)},`,
      `    sql: ${templateLiteral(sql)},`,
      "  },",
    ].join("\n")
  );
  return [
    "/**",
    ` * The migrations of this dialect; generated from \`migrations/${dialect}\` by`,
    " * `tools/embed_migrations.ts`, never edited.",
    " *",
    " * @module",
    " */",
    "",
    'import type { Migration } from "../sql/migrate.ts";',
    "",
    "// deno-fmt-ignore",
    "/** The migrations in the order of their names. */",
    `export const MIGRATIONS: readonly Migration[] = [\n${entries.join("\n")}\n];`,
    "",
  ].join("\n");
}

/** The checksum that the schema table keeps: SHA-256 of the raw text. */
export function checksumOf(sql: string): string {
  return createHash("sha256").update(sql).digest("hex");
}

/** Whether a migration says of itself that older versions cannot live with it. */
export function isBreaking(sql: string): boolean {
  return /^-- breaking\s*$/m.test(sql);
}

function templateLiteral(text: string): string {
  const escaped = text.replaceAll(/[\\`]|\$\{/g, (found) => `\\${found}`);
  return `\`${escaped}\``;
}

/** What must be generated for the dialect folders under a root. */
export function generatedFiles(root: string): Generated[] {
  return readdirSync(`${root}/migrations`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name: dialect }) => {
      const files = readdirSync(`${root}/migrations/${dialect}`)
        .filter((name) => name.endsWith(".sql"))
        .sort()
        .map((name) => ({
          name: name.slice(0, -".sql".length),
          sql: readFileSync(`${root}/migrations/${dialect}/${name}`, "utf8"),
        }));
      return {
        path: `drivers/${dialect}/migrations.gen.ts`,
        text: moduleOf(dialect, files),
      };
    });
}

function main(args: readonly string[]): number {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const check = args.includes("--check");
  let stale = 0;
  for (const { path, text } of generatedFiles(root)) {
    const file = `${root}/${path}`;
    if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
    stale++;
    if (!check) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    console.log(check ? `${path} is stale; run \`deno task embed\`` : `${path} was written`);
  }
  return check && stale > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(main(Deno.args));
