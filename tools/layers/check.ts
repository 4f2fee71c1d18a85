/**
 * Proves the direction of imports: each check takes scanned files and answers its violations.
 *
 * @module
 */

import { CLIENTS, COMPUTED_ALLOWED, DENO_ALLOWED, ROOMS } from "./rules.ts";
import { type Scan, scan } from "./scan.ts";

/** A file to check: its path from the root of the project, with slashes, and its text. */
export interface Source {
  /** Such as `src/run/engine.ts`. */
  readonly path: string;
  /** What is in it. */
  readonly text: string;
}

/** Something that must not be. */
export interface Violation {
  /** The file. */
  readonly path: string;
  /** The line, from 1. */
  readonly line: number;
  /** What is wrong; what to do. */
  readonly message: string;
}

/** A file with what was found in it. */
export interface ScannedFile extends Scan {
  /** Its path from the root of the project. */
  readonly path: string;
}

/** Every violation in these files, in the order of paths and lines. */
export function checkLayers(sources: readonly Source[]): Violation[] {
  const files = sources.map(({ path, text }) => ({ path, ...scan(text) }));
  const found = [
    ...files.flatMap(checkDirection),
    ...files.flatMap(checkDependencies),
    ...files.flatMap(checkRuntime),
    ...checkCycles(files),
  ];
  return found.sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line);
}

/** The violation as a line that editors and people can follow. */
export function describe({ path, line, message }: Violation): string {
  return `${path}:${line}: ${message}`;
}

/** The room of a path, or null when it is in none. */
export function roomOf(path: string): string | null {
  const parts = path.split("/");
  const room = parts.length > 2 ? `${parts[0]}/${parts[1]}` : path;
  return Object.hasOwn(ROOMS, room) ? room : null;
}

/** Relative imports stay within what the room may import. */
export function checkDirection(file: ScannedFile): Violation[] {
  const room = roomOf(file.path);
  if (room === null) {
    const message = `Cannot place this file: it is in no known room; ` +
      `move it into one, or add its room to tools/layers/rules.ts`;
    return [{ path: file.path, line: 1, message }];
  }
  const allowed = ROOMS[room] as readonly string[];
  const violations: Violation[] = [];
  for (const { specifier, line } of file.imports) {
    if (!isRelative(specifier)) continue;
    const target = resolve(file.path, specifier);
    const other = roomOf(target);
    if (other === room || (other !== null && allowed.includes(other))) continue;
    const may = allowed.length === 0 ? "nothing" : allowed.join(", ");
    const message = other === null
      ? `Cannot import ${target}: it is outside of the library; move what is needed into ${room}`
      : `Cannot import ${target}: ${room} may import only itself and ${may}; ` +
        `pass in what is needed, or move it below both`;
    violations.push({ path: file.path, line, message });
  }
  return violations;
}

/** Everything else is a built-in, or a known client in its own driver. */
export function checkDependencies(file: ScannedFile): Violation[] {
  const violations: Violation[] = [];
  for (const { specifier, line } of file.imports) {
    const message = isRelative(specifier) ? null : refusal(file.path, specifier);
    if (message !== null) violations.push({ path: file.path, line, message });
  }
  const mayCompute = Object.keys(COMPUTED_ALLOWED).some((folder) => file.path.startsWith(folder));
  for (const line of mayCompute ? [] : file.computedLines) {
    const message = `Cannot check a computed import(): its target is not in the text; ` +
      `write the specifier as a plain string`;
    violations.push({ path: file.path, line, message });
  }
  return violations;
}

function refusal(path: string, specifier: string): string | null {
  const name = packageOf(specifier);
  const places = CLIENTS[name];
  if (places !== undefined) {
    if (places.some((place) => path.startsWith(place))) {
      return specifier.startsWith("npm:")
        ? `Cannot import "${specifier}": versions are kept in one place; ` +
          `import "${name}" and leave the version to deno.json`
        : null;
    }
    return `Cannot import "${specifier}" here: only ${places.join(" and ")} may; ` +
      `reach the database through the seams in src/seams/`;
  }
  if (specifier.startsWith("node:")) return null;
  return `Cannot import "${specifier}": the library depends on nothing but node: built-ins ` +
    `and the clients of its drivers; do without it, ` +
    `or add it to tools/layers/rules.ts and docs/dependencies.md with its reason`;
}

/** `npm:pg@^8/lib/x` and `pg/lib/x` are both `pg`; a built-in is its own name. */
function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier.split("/")[0] as string;
  const bare = specifier.replace(/^npm:\/?/, "");
  const parts = bare.split("/");
  const name = bare.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0] as string;
  return name.replace(/(?<=.)@.*$/, "");
}

/** What runs on Node 22 too: no `Deno`, no `using`. */
export function checkRuntime(file: ScannedFile): Violation[] {
  const violations: Violation[] = [];
  if (!Object.hasOwn(DENO_ALLOWED, file.path)) {
    for (const line of file.denoLines) {
      const message = `Cannot use Deno here: the library runs on Node too; ` +
        `use a node: built-in, or allow the file in tools/layers/rules.ts with a reason`;
      violations.push({ path: file.path, line, message });
    }
  }
  for (const line of file.usingLines) {
    const message = `Cannot declare with using here: Node 22 does not know it; ` +
      `use try and finally`;
    violations.push({ path: file.path, line, message });
  }
  return violations;
}

/** No file reaches itself again, not even by types: what needs each other belongs in one file. */
export function checkCycles(files: readonly ScannedFile[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const trail: string[] = [];
  const violations: Violation[] = [];

  function visit(file: ScannedFile): void {
    if (done.has(file.path)) return;
    trail.push(file.path);
    for (const { specifier, line } of file.imports) {
      if (!isRelative(specifier)) continue;
      const target = byPath.get(resolve(file.path, specifier));
      if (target === undefined) continue;
      const start = trail.indexOf(target.path);
      if (start === -1) visit(target);
      else {
        const cycle = [...trail.slice(start), target.path].join(" -> ");
        const message = `Cannot import in a circle: ${cycle}; ` +
          `move what both need into a file below them`;
        violations.push({ path: file.path, line, message });
      }
    }
    trail.pop();
    done.add(file.path);
  }

  for (const file of files) visit(file);
  return violations;
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith("./") || specifier.startsWith("../") || specifier.startsWith("/");
}

/** The path that a relative specifier of a file means. */
function resolve(path: string, specifier: string): string {
  return decodeURIComponent(new URL(specifier, `file:///${path}`).pathname.slice(1));
}
