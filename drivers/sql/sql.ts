/**
 * All statements of one store together: what the plans work with.
 *
 * @module
 */

import type { SqlScalar } from "./client.ts";
import type { Dialect, KeyType, Tables, ValueCodec } from "./dialect.ts";
import { type Duties, duties } from "./duties.ts";
import { uuidId } from "./ids.ts";
import { type Locks, locks } from "./locks.ts";
import { type Queries, queries } from "./queries.ts";
import { type Recall, recallOf } from "./recall.ts";
import { type Statements, statements } from "./statements.ts";

/** All statements of one store, for its database and its type of key. */
export interface Sql extends Statements {
  /** How values travel. */
  readonly codec: ValueCodec;
  /** The statements that lock. */
  readonly lock: Locks;
  /** The statements that only read. */
  readonly query: Queries;
  /** What one worker of all does. */
  readonly duty: Duties;
  /** What the store remembers of rows it wrote; null where it cannot. */
  readonly recall: Recall | null;
  /** An id for binding, or null when it is not well-formed. */
  idIn(id: string): SqlScalar;
  /** An id to go on behind, or null when no place in a list is one: a text has none among UUIDs. */
  placeIn(id: string): SqlScalar;
  /** The well-formed ones among ids, each once, in the order of the ids, with what is bound. */
  knownIds(ids: readonly string[]): Map<string, SqlScalar>;
}

/** Makes all statements of a store. */
export function sqlOf(base: Dialect, tables: Tables, keyType: KeyType): Sql {
  const dialect = base.withKeys?.(keyType) ?? base;
  const codec = dialect.codec(keyType);
  const ground = { dialect, tables, keyType, codec };
  // Callers in plain JavaScript may pass anything for an id.
  const idIn = (id: string): SqlScalar => typeof id === "string" ? codec.idIn(id) : null;
  return {
    ...statements(ground),
    codec,
    lock: locks(ground),
    query: queries(ground),
    duty: duties(ground),
    recall: recallOf(ground),
    idIn,
    placeIn: (id) => keyType === "uuid" && uuidId(String(id)) === null ? null : idIn(id),
    knownIds(ids) {
      const known = new Map<string, SqlScalar>();
      for (const id of ids) {
        const value = idIn(id);
        if (value !== null) known.set(id, value);
      }
      return known;
    },
  };
}
