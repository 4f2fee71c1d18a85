/**
 * Composing texts. Most statements have one text, made once; a few have a part that depends on what
 * is asked (a list of ids, a limit). Those are composed once per form of that part and kept, so
 * that a client meets the same string again and can keep its prepared statement.
 *
 * @module
 */

import type { Dialect, Tables } from "./dialect.ts";

const MAX_FORMS = 1_000;

/** The final text for parts that are still in the portable form. */
export type Template = (...parts: string[]) => string;

/** Makes a template; `build` gets the parts and answers portable text. */
export function template(dialect: Dialect, build: (...parts: string[]) => string): Template {
  const forms = new Map<string, string>();
  return (...parts) => {
    const key = parts.length === 1 ? parts[0] as string : parts.join("\n");
    let text = forms.get(key);
    if (text === undefined) {
      // What is asked comes from outside in the end; a cache must not grow with it.
      if (forms.size >= MAX_FORMS) forms.clear();
      text = dialect.text(build(...parts));
      forms.set(key, text);
    }
    return text;
  };
}

/** The names of the tables under a prefix, in a schema where there is one. */
export function tablesOf(prefix: string, schema?: string): Tables {
  const head = schema === undefined ? prefix : `${schema}.${prefix}`;
  return {
    workflows: `${head}workflows`,
    executions: `${head}step_executions`,
    signals: `${head}signals`,
    duties: `${head}duties`,
    schema: `${head}schema`,
  };
}
