/**
 * A page that shows what a command printed on a terminal, for the pictures of the documentation.
 *
 * @module
 */

/** The classes of the codes that the command line uses; each ends with its own code. */
const CLASSES: Readonly<Record<string, string>> = {
  "1": "bold",
  "2": "dim",
  "31": "red",
  "32": "green",
  "33": "yellow",
  "34": "blue",
  "36": "cyan",
};
const ENDS: readonly string[] = ["0", "22", "39"];

// deno-lint-ignore no-control-regex -- the escape character is what colours begin with
const CODE = /\x1b\[(\d+)m/g;

const STYLE = `
  body { margin: 0; background: #16181d; }
  pre { display: inline-block; margin: 0; padding: 20px 24px; color: #d5d9e0;
    font: 14px/1.25 "DejaVu Sans Mono", Menlo, Consolas, monospace; }
  .bold { font-weight: bold; color: #fff; } .dim { color: #858b98; } .red { color: #ff7b72; }
  .green { color: #7ee787; } .yellow { color: #e3b341; } .blue { color: #79c0ff; }
  .cyan { color: #76e3ea; } .prompt { color: #fff; font-weight: bold; }
`;

/** A page with the text in a terminal's colours; lines that begin with a prompt stand out. */
export function terminalPage(text: string): string {
  const body = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replace(CODE, (_, code: string) => {
      if (ENDS.includes(code)) return "</span>";
      const name = CLASSES[code];
      if (name === undefined) throw new Error(`Cannot draw the terminal's code ${code}`);
      return `<span class="${name}">`;
    })
    .replace(/^\$ .*$/gm, (line) => `<span class="prompt">${line}</span>`);
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><pre>${body}</pre>`;
}
