/**
 * Duties: what one worker of all does, held by a row.
 *
 * @module
 */

import type { DutyOptions } from "../../src/seams/store.ts";
import { type Plan, rowsOf } from "./client.ts";
import type { Ground } from "./statements.ts";

/** The statements of duties. */
export interface Duties {
  /** Takes a duty or keeps it; true when it is this holder's now. */
  take(name: string, options: DutyOptions): Plan<boolean>;
}

/** Makes the statements of duties. */
export function duties({ dialect, tables, codec }: Ground): Duties {
  // The update waits for whoever else is taking the duty, and then finds it held.
  const take = dialect.text(
    `UPDATE ${tables.duties} SET holder = ?, held_until = ? ` +
      `WHERE name = ? AND (held_until <= ? OR holder = ?)`,
  );
  const holder = dialect.text(`SELECT holder FROM ${tables.duties} WHERE name = ?`);
  return {
    *take(name, { now, holder: taker, holdMs }) {
      const until = codec.timeIn(new Date(now.getTime() + holdMs));
      yield* rowsOf({ text: take, params: [taker, until, name, codec.timeIn(now), taker] });
      const [row] = yield* rowsOf({ text: holder, params: [name] });
      return row?.holder === taker;
    },
  };
}
