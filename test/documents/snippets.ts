import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../fixtures/service.ts";

/** A fenced block of a document. */
export interface Snippet {
  /** Path of the document in the repository. */
  readonly document: string;
  /** Line of the fence, from 1. */
  readonly line: number;
  /** The word after the fence; empty for plain text. */
  readonly language: string;
  readonly code: string;
}

/** Paths of all documents for users and contributors. */
export const DOCUMENTS: readonly string[] = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "sdk/README.md",
  "sdk/CHANGELOG.md",
  "sdk/examples/README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => join("docs", path))
    .sort(),
];

export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** All fenced blocks of all documents, without the indentation of lists. */
export const SNIPPETS: readonly Snippet[] = DOCUMENTS.flatMap((document) => {
  const text = readDocument(document);
  return [...text.matchAll(/^( *)```(\w*)\n(.*?)^\1```$/gms)].map(
    ({ index, 1: indent = "", 2: language = "", 3: code = "" }) => ({
      document,
      line: text.slice(0, index).split("\n").length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  );
});

/** The TypeScript examples in the comments of the SDK, which editors show. */
export const COMMENT_EXAMPLES: readonly Snippet[] = readdirSync(join(ROOT, "sdk/src"), {
  recursive: true,
  encoding: "utf8",
})
  .filter((path) => path.endsWith(".ts"))
  .sort()
  .flatMap((path) => {
    const document = join("sdk/src", path);
    const text = readDocument(document);
    return [...text.matchAll(/^ *\* @example\n *\* ```ts\n(.*?)^ *\* ```$/gms)].map(
      ({ index, 1: code = "" }) => ({
        document,
        line: text.slice(0, index).split("\n").length,
        language: "ts",
        code: code.replaceAll(/^ *\* ?/gm, ""),
      }),
    );
  });

export function snippetsIn(language: string): readonly Snippet[] {
  return SNIPPETS.filter((snippet) => snippet.language === language);
}

/** The commands of a shell snippet: continued lines are joined, comments and empty lines left out. */
export function commandsOf({ code }: Snippet): readonly string[] {
  return code
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(^| +)#.*/, "").trim())
    .filter((line) => line !== "");
}
