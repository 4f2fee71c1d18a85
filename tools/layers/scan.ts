/**
 * Reads a TypeScript file as far as the layer rules need it: its imports, and three words that are
 * not welcome everywhere (`Deno`, `using`, a computed `import()`).
 *
 * It is a scanner and not a parser, so that the check needs no dependency. It knows comments,
 * strings, templates and regular expressions, which is enough to never take their insides for code.
 *
 * @module
 */

/** One import, re-export or import type of a file. */
export interface Import {
  /** What is imported, as it is written. */
  readonly specifier: string;
  /** The line of the specifier, from 1. */
  readonly line: number;
}

/** What the rules want to know of a file. */
export interface Scan {
  /** Static, dynamic and type imports, and re-exports, in the order of the text. */
  readonly imports: readonly Import[];
  /** Lines that name the `Deno` global. */
  readonly denoLines: readonly number[];
  /** Lines with a `using` or `await using` declaration. */
  readonly usingLines: readonly number[];
  /** Lines with an `import()` whose argument is not a plain string. */
  readonly computedLines: readonly number[];
}

interface Token {
  readonly kind: "word" | "string" | "number" | "template" | "regex" | "mark";
  readonly text: string;
  readonly line: number;
}

/** Scans the text of one file. */
export function scan(text: string): Scan {
  const tokens = tokensOf(text);
  const imports: Import[] = [];
  const denoLines: number[] = [];
  const usingLines: number[] = [];
  const computedLines: number[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.kind !== "word") continue;
    if (isProperty(tokens, at) && token.text !== "Deno") continue;
    switch (token.text) {
      case "import":
      case "export": {
        const found = token.text === "import" ? importAt(tokens, at) : exportAt(tokens, at);
        if (found === "computed") computedLines.push(token.line);
        else if (found !== null) imports.push({ specifier: found.text, line: found.line });
        break;
      }
      case "Deno":
        denoLines.push(token.line);
        break;
      case "using":
        if (isUsing(tokens, at)) usingLines.push(token.line);
        break;
    }
  }
  return { imports, denoLines, usingLines, computedLines };
}

/** `a.import` and `a?.using` are members, and `{ using: 1 }` is a key; neither is a statement. */
function isProperty(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1]?.text;
  return before === "." || before === "?." || tokens[at + 1]?.text === ":";
}

function importAt(tokens: readonly Token[], at: number): Token | "computed" | null {
  const next = tokens[at + 1];
  if (next === undefined || next.text === ".") return null;
  if (next.kind === "string") return next;
  if (next.text !== "(") return fromClause(tokens, at + 1);
  const argument = tokens[at + 2];
  const end = tokens[at + 3]?.text;
  const plain = argument?.kind === "string" && (end === ")" || end === ",");
  return plain ? argument : "computed";
}

/** Only `export *` and `export {…}`, with or without `type`, can have a `from`. */
function exportAt(tokens: readonly Token[], at: number): Token | null {
  const first = tokens[at + 1]?.text === "type" ? at + 2 : at + 1;
  const opening = tokens[first]?.text;
  return opening === "*" || opening === "{" ? fromClause(tokens, first) : null;
}

/** The specifier after the names of an import or export, or null when there is none. */
function fromClause(tokens: readonly Token[], start: number): Token | null {
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    const specifier = tokens[at + 1];
    if (token.text === "from" && specifier?.kind === "string") return specifier;
    const belongs = token.kind === "word" || token.kind === "string" ||
      ["{", "}", ",", "*"].includes(token.text);
    // After the closing brace of a plain `export {…}` the next statement begins.
    const ended = token.text === "}" && specifier?.text !== "from";
    if (!belongs || ended) return null;
  }
  return null;
}

/** `using x =`, `using x:`, `using x of`: a name must follow on the same line. */
function isUsing(tokens: readonly Token[], at: number): boolean {
  const [word, name, after] = tokens.slice(at, at + 3);
  if (word === undefined || name?.kind !== "word" || name.line !== word.line) return false;
  return after !== undefined && ["=", ":", "of"].includes(after.text);
}

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /\d[\w.]*/y;
const SPACE = /\s+/y;
const LINE_COMMENT = /\/\/[^\n]*|#![^\n]*/y;
const BLOCK_COMMENT = /\/\*[\s\S]*?(?:\*\/|$)/y;
const STRING = /"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/y;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
const MARK = /\?\.|[\s\S]/y;

/** After one of these a slash begins a regular expression, although it follows a word. */
const OPERATOR_WORDS = new Set(
  "return typeof case do else in of void delete throw new await yield instanceof".split(" "),
);

/** The tokens of a text, without comments; a template is one token, followed by its insertions. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  /** How many braces are open in each template insertion that we are in. */
  const insertions: number[] = [];
  let at = 0;
  let line = 1;

  function take(pattern: RegExp): string | null {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? null;
  }

  function advance(taken: string): void {
    at += taken.length;
    for (const char of taken) if (char === "\n") line++;
  }

  /** Reads template text up to its end or to the next insertion. */
  function template(): void {
    while (at < text.length) {
      const char = text[at] as string;
      if (char === "`") return advance(char);
      if (char === "$" && text[at + 1] === "{") {
        insertions.push(0);
        return advance("${");
      }
      advance(char === "\\" ? text.slice(at, at + 2) : char);
    }
  }

  function push(kind: Token["kind"], taken: string, shown: string = taken): void {
    tokens.push({ kind, text: shown, line });
    advance(taken);
  }

  while (at < text.length) {
    const skipped = take(SPACE) ?? take(BLOCK_COMMENT) ?? take(LINE_COMMENT);
    if (skipped !== null) {
      advance(skipped);
      continue;
    }
    const word = take(WORD);
    const number = word === null ? take(NUMBER) : null;
    const string = take(STRING);
    const regex = slashBeginsRegex(tokens.at(-1)) ? take(REGEX) : null;
    if (word !== null) push("word", word);
    else if (number !== null) push("number", number);
    else if (string !== null) push("string", string, string.slice(1, -1));
    else if (regex !== null) push("regex", regex);
    else if (text[at] === "`") {
      push("template", "`");
      template();
    } else if (text[at] === "}" && insertions.at(-1) === 0) {
      insertions.pop();
      advance("}");
      template();
    } else {
      const mark = take(MARK) as string;
      const open = insertions.length - 1;
      if (open >= 0 && mark === "{") insertions[open] = (insertions[open] as number) + 1;
      if (open >= 0 && mark === "}") insertions[open] = (insertions[open] as number) - 1;
      push("mark", mark);
    }
  }
  return tokens;
}

/** A slash after a value divides; anywhere else it begins a regular expression. */
function slashBeginsRegex(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === "word") return OPERATOR_WORDS.has(before.text);
  if (before.kind === "mark") return ![")", "]", "}"].includes(before.text);
  return false;
}
