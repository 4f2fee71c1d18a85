/**
 * Loading the definitions from a module that the user names.
 *
 * @module
 */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { WorkflowDefinition } from "../define/definition.ts";
import { isMade } from "../define/options.ts";
import { InvalidInputError } from "../errors.ts";
import { toError } from "../state/stored_error.ts";

/** Imports a module by a path from a folder, or by a URL or package name. */
export async function importModule(
  specifier: string,
  cwd: string,
): Promise<Readonly<Record<string, unknown>>> {
  const isUrl = /^[a-z][a-z0-9+.-]+:/i.test(specifier);
  const target = isUrl ? specifier : pathToFileURL(resolve(cwd, specifier)).href;
  return await import(target);
}

/**
 * The definitions that a module exports, by name or in arrays, each once.
 *
 * @throws {InvalidInputError} When it cannot be loaded, or exports none.
 */
export async function definitionsIn(
  specifier: string,
  load: () => Promise<Readonly<Record<string, unknown>>>,
): Promise<WorkflowDefinition[]> {
  let exports: Readonly<Record<string, unknown>>;
  try {
    exports = await load();
  } catch (thrown) {
    throw new InvalidInputError(
      `Cannot load the module ${specifier}: ${toError(thrown).message}; ${adviceFor(thrown)}`,
      { cause: thrown },
    );
  }
  const found = new Set<WorkflowDefinition>();
  for (const value of Object.values(exports).flat()) {
    if (isMade<WorkflowDefinition>(value, "workflow")) found.add(value);
  }
  if (found.size > 0) return [...found];
  throw new InvalidInputError(
    `Cannot use the module ${specifier}: none of its exports is a workflow; ` +
      `export what workflow({...}) returned, or an array of these`,
  );
}

/** What to do about a module that does not load; Node's words name the symptom. */
function adviceFor(thrown: unknown): string {
  const error = toError(thrown);
  if (/outside a module|Unexpected token 'export'/.test(error.message)) {
    return 'put "type": "module" into package.json';
  }
  if ((error as { readonly code?: unknown }).code === "ERR_UNKNOWN_FILE_EXTENSION") {
    return "use Node 22.18 or newer, which reads TypeScript, or name a file of JavaScript";
  }
  return "name a file that exports workflows";
}
