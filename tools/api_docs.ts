/**
 * `deno task docs:api`: writes the reference of all entries as web pages, into `docs/api` or the
 * folder that is named.
 *
 * The pages need no server: open `docs/api/index.html`. They are made from the comments in the
 * sources and are not part of the repository.
 *
 * @module
 */

import process from "node:process";

const ROOT = new URL("../", import.meta.url);
const FOLDER = "docs/api";

/** Writes the reference into a folder and answers the path of its first page. */
export async function writeApiDocs(folder: string): Promise<string> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const entries = Object.values(config.exports as Record<string, string>);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--html", `--name=${config.name}`, `--output=${folder}`, ...entries],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  if (success) return `${folder}/index.html`;
  const decoder = new TextDecoder();
  throw new Error(
    `Cannot write the reference: deno doc said:\n${decoder.decode(stdout)}${
      decoder.decode(stderr)
    }`,
  );
}

if (import.meta.main) console.log(await writeApiDocs(process.argv[2] ?? FOLDER));
