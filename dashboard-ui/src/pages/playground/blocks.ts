import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";

const parser = unified().use(remarkParse).use(remarkGfm);
/** They apply to the whole text, so a text that has one is not split. */
const DEFINITIONS = ["definition", "footnoteDefinition"];

/** A Markdown text and where its blocks begin: paragraphs, lists, tables, code. */
interface SplitText {
  readonly text: string;
  readonly starts: readonly number[];
  readonly hasDefinitions: boolean;
}

/**
 * Splits Markdown into its outermost blocks, each of which can be rendered by itself. When a text has grown, only its last block is
 * parsed again, because a block is complete when the next one has begun.
 */
export function splitBlocks(text: string, before: SplitText | null): SplitText {
  const grown = before !== null && text.startsWith(before.text) ? before : null;
  const tailStart = grown?.starts.at(-1) ?? 0;
  const { children } = parser.parse(text.slice(tailStart));
  const tailStarts = children.flatMap(({ position }) => {
    const { offset, column } = position?.start ?? {};
    // A block's text includes the indentation of its first line.
    return offset === undefined || column === undefined ? [] : [tailStart + offset - (column - 1)];
  });
  return {
    text,
    starts: [...(grown?.starts.slice(0, -1) ?? []), ...tailStarts],
    hasDefinitions: grown?.hasDefinitions === true || children.some(({ type }) => DEFINITIONS.includes(type)),
  };
}

export function textsOf({ text, starts, hasDefinitions }: SplitText): readonly string[] {
  return hasDefinitions ? [text] : starts.map((start, index) => text.slice(start, starts[index + 1]));
}
