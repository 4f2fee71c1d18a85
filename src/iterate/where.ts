/**
 * The condition that a user adds to a table: checked for what would break the statement around it,
 * its parameters brought into the dialect's form.
 *
 * The text is the application's own and trusted as such; what is refused here are mistakes. A
 * condition with its own order or limit would contradict the cursor, which dictates both.
 *
 * @module
 */

import type { TableSource } from "../define/context.ts";
import { InvalidInputError } from "../errors.ts";

/** Literals, quoted names, comments, parentheses, parameters and words: what the checks look at. */
const TOKENS =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--|\/\*|\$\d+|\?|[();'"`#]|[\p{L}_][\p{L}\p{N}_]*/gu;

const REFUSED_WORDS: ReadonlySet<string> = new Set(
  "ORDER LIMIT OFFSET FETCH GROUP HAVING UNION INTERSECT EXCEPT JOIN".split(" "),
);

/** Checks a condition and numbers its parameters; null when there is none. */
export function condition(
  dialect: TableSource["dialect"],
  where: TableSource["where"],
): { readonly sql: string; readonly params: readonly unknown[] } | null {
  if (where === undefined) return null;
  const { sql, params = [] } = typeof where === "string" ? { sql: where } : where;
  if (typeof sql !== "string" || sql.trim() === "") throw refused("it is empty");
  let depth = 0;
  let marks = 0;
  const numbers = new Set<number>();
  const text = sql.replace(TOKENS, (token) => {
    if (token === "(") depth++;
    else if (token === ")") depth--;
    else if (token === "?") return dialect === "postgres" ? `$${++marks}` : (marks++, token);
    else if (/^\$\d/.test(token)) numbers.add(Number(token.slice(1)));
    else if (/^(?:--|\/\*|[;'"`])$/.test(token)) throw refused(`it has a stray ${token}`);
    else if (token === "#" && dialect === "mysql") throw refused("it has a comment");
    else if (depth === 0 && REFUSED_WORDS.has(token.toUpperCase())) throw refusedWord(token);
    if (depth < 0) throw refused("it closes a parenthesis that it did not open");
    return token;
  });
  if (depth !== 0) throw refused("it does not close a parenthesis");
  checkCount(dialect, { marks, numbers, given: params.length });
  return { sql: text, params };
}

/** Parameters are `?` everywhere; on Postgres `$1` and so on as well, but not both. */
function checkCount(
  dialect: TableSource["dialect"],
  found: { readonly marks: number; readonly numbers: ReadonlySet<number>; readonly given: number },
): void {
  const { marks, numbers, given } = found;
  if (numbers.size > 0 && (marks > 0 || dialect !== "postgres")) {
    throw refused("its parameters must all be written as ?");
  }
  const wanted = numbers.size > 0 ? Math.max(...numbers) : marks;
  if (wanted !== given) throw refused(`it has ${wanted} parameters, ${given} were given`);
}

function refusedWord(word: string): InvalidInputError {
  return refused(
    `it has its own ${word.toUpperCase()}: the cursor dictates order and limit, and other ` +
      `tables belong into a sub-query`,
  );
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError(`Cannot use the condition of a table source: ${why}`);
}
