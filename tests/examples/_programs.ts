/**
 * The programs that stand in the README and in the guide, as a reader would copy them.
 */

const ROOT = new URL("../../", import.meta.url);
const PROGRAM = /^```ts\n([\s\S]*?)^```$(?:\n\nIt prints:\n\n```text\n([\s\S]*?)^```$)?/gm;

/** A program of a page. */
export interface Program {
  /** The page and its place there, such as `signals_2`. */
  readonly name: string;
  /** What the reader copies. */
  readonly code: string;
  /** What the page says that it prints; null when it says nothing. */
  readonly prints: string | null;
}

/** All programs; those that are marked to be ignored cannot stand alone, and are left out. */
export async function readPrograms(): Promise<Program[]> {
  const guide = new URL("docs/guide/", ROOT);
  const pages = [new URL("README.md", ROOT)];
  for await (const { name } of Deno.readDir(guide)) {
    if (name.endsWith(".md")) pages.push(new URL(name, guide));
  }
  const found: Program[] = [];
  for (const page of pages.sort((a, b) => a.href < b.href ? -1 : 1)) {
    const title = (page.pathname.split("/").at(-1) as string).replace(".md", "");
    const text = await Deno.readTextFile(page);
    for (const [at, [, code = "", prints]] of [...text.matchAll(PROGRAM)].entries()) {
      found.push({ name: `${title}_${at + 1}`, code, prints: prints ?? null });
    }
  }
  return found;
}
