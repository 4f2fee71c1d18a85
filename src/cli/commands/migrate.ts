/**
 * `pawl migrate`: brings the schema up to date.
 *
 * @module
 */

import { choiceOf, isGiven } from "../args.ts";
import { type Command, type Context, DONE } from "../command.ts";

const KEY_TYPES = ["auto", "bigint", "uuid"] as const;

/** Brings the schema up to date. */
export const migrateCommand: Command = {
  name: "migrate",
  summary: "bring the tables up to date",
  words: "",
  count: [0, 0],
  options: {
    "dry-run": { about: "only print the statements" },
    "key-type": {
      value: "TYPE",
      about: "auto (as the application's own tables have it), bigint or uuid; for new tables only",
    },
  },
  about: [
    "Safe to run again, and in several places at once: each migration is applied once. Run it " +
    "before the workers of a new version start.",
  ],
  shape: `{ "applied": ["0001_pawl"], "present": [], "keyType": "bigint", "dryRun": false,
  "sql": "…, with --dry-run only, else null" }`,
  examples: [
    ["pawl migrate --database sqlite:///var/lib/app/app.db", "make or update the tables"],
    ["pawl migrate --dry-run > pawl.sql", "see the statements first"],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const dryRun = isGiven(context, "dry-run");
  const keyType = choiceOf(context, "key-type", KEY_TYPES);
  const report = await context.withStore((store) => store.migrate({ dryRun, keyType }));
  const { applied, present, sql } = report;
  if (context.json) {
    context.printJson({
      applied,
      present,
      keyType: report.keyType,
      dryRun,
      sql: dryRun ? sql : null,
    });
    return DONE;
  }
  if (dryRun) {
    if (sql !== "") context.print(sql);
    context.note(`${listed(applied)} would be applied; nothing was changed`);
    return DONE;
  }
  context.print(
    applied.length === 0
      ? `Up to date: ${listed(present)} (${report.keyType} keys)`
      : `Applied ${listed(applied)} (${report.keyType} keys)`,
  );
  return DONE;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "nothing" : names.join(", ");
}
