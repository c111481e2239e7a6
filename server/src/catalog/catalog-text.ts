import type { Document, LineCounter, Node } from "yaml";
import { jsonFault } from "../json/json-fault.ts";

type Yaml = typeof import("./yaml.ts");

/** A place in a catalog file: the names of fields and the indices of lists that lead there. */
export type Place = readonly PropertyKey[];

/** A problem of a catalog file. */
export interface Problem {
  /** Where the wrong value is. The whole file, if it is empty. */
  readonly place: Place;
  /** The field whose line is shown, if it is not at the place, such as one that does not belong there. */
  readonly shown?: Place;
  readonly message: string;
}

/** The text of a catalog file. */
export interface CatalogText {
  /** What the text says; `null` if it can't be parsed. */
  readonly content: unknown;
  /** What keeps the text from being parsed, with lines. */
  readonly faults: readonly string[];
}

/** Reads the texts of catalog files. */
export interface CatalogParser {
  /** Parses YAML or JSON, which is YAML. @param path The file, for messages. */
  parse(path: string, text: string): Promise<CatalogText>;
  /** The problems of a text as lines, such as `catalog.yaml:12: models[2].id: is required`. Parses the text again, to find their places. */
  describe(path: string, text: string, problems: readonly Problem[]): Promise<readonly string[]>;
}

/** Parses on the thread of the caller: 2,000 models take some tenths of a second. */
export const CATALOG_PARSER: CatalogParser = { parse: parseCatalogText, describe: describeProblems };

async function parseCatalogText(path: string, text: string): Promise<CatalogText> {
  const { yaml, document, lines } = await documentOf(text);
  const fault = document.errors.length > 0 && isMeantAsJson(path, text) ? jsonFault(text) : null;
  if (fault !== null) {
    return { content: null, faults: [`${path}:${fault.line}:${fault.column}: ${fault.reason}`] };
  }
  const faults = document.errors.map(({ code, message, pos: [start] }) => {
    const { line, col } = lines.linePos(start);
    const reason = code === "MULTIPLE_DOCS" ? "the file has a second document, after a line ---" : message;
    return `${path}:${line}:${col}: ${reason}`;
  });
  if (faults.length === 0) faults.push(...unresolvedAliases(yaml, path, document, lines));
  if (faults.length > 0) return { content: null, faults };
  try {
    return { content: document.toJS(), faults };
  } catch (error) {
    // Such as aliases that would expand to very much.
    const reason = error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "is no YAML";
    return { content: null, faults: [`${path}: ${reason}`] };
  }
}

/** YAML in braces has no quotation marks around the names of fields, so it is not explained as JSON. */
function isMeantAsJson(path: string, text: string): boolean {
  return /\.json$/i.test(path) || /^\ufeff?\s*\{\s*(?:"|$)/.test(text);
}

async function describeProblems(
  path: string,
  text: string,
  problems: readonly Problem[],
): Promise<readonly string[]> {
  const { yaml, document, lines } = await documentOf(text);
  return problems.map(
    ({ place, shown = place, message }) =>
      `${path}${lineText(yaml, document, lines, shown)}: ${placeText(place)}${message}`,
  );
}

async function documentOf(text: string) {
  // A service without a catalog file does not load the parser.
  const yaml = await import("./yaml.ts");
  const lines = new yaml.LineCounter();
  return { yaml, lines, document: yaml.parseDocument(text, { prettyErrors: false, lineCounter: lines }) };
}

/** An alias needs an anchor before it. */
function unresolvedAliases(yaml: Yaml, path: string, document: Document, lines: LineCounter): string[] {
  const faults: string[] = [];
  yaml.visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return;
      const { line } = lines.linePos(alias.range?.[0] ?? 0);
      faults.push(`${path}:${line}: *${alias.source} has no anchor &${alias.source} before it`);
    },
  });
  return faults;
}

/** `:12`, the line of a place or of the last part of it that is in the file. */
function lineText(yaml: Yaml, document: Document, lines: LineCounter, place: Place): string {
  let node: unknown = document.contents;
  let start = (node as Node | null)?.range?.[0];
  for (const part of place) {
    if (yaml.isMap(node)) {
      const pair = node.items.find(
        ({ key }) => String(yaml.isScalar(key) ? key.value : key) === String(part),
      );
      if (pair === undefined) break;
      start = (pair.key as Node).range?.[0] ?? start;
      node = pair.value;
    } else if (yaml.isSeq(node) && typeof part === "number") {
      node = node.items[part];
      start = (node as Node | undefined)?.range?.[0] ?? start;
    } else break;
  }
  return start === undefined ? "" : `:${lines.linePos(start).line}`;
}

/** `models[2].routes[0].upstream: ` */
function placeText(place: Place): string {
  const text = place.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return text === "" ? "" : `${text.replace(/^\./, "")}: `;
}
