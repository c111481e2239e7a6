import { memo, type ReactNode, useState } from "react";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";
import { splitBlocks, textsOf } from "./blocks.ts";
import { CodeBlock } from "./CodeBlock.tsx";
import styles from "./Markdown.module.css";

const PLUGINS = [remarkGfm];

/**
 * A model's answer, rendered from Markdown with tables and task lists. HTML is shown as text, and images as links, because loading
 * one would tell its server about the reader. While the text grows, only its last block is rendered again.
 */
export function Markdown({ text }: { readonly text: string }) {
  const [split, setSplit] = useState(() => splitBlocks(text, null));
  const shown = split.text === text ? split : splitBlocks(text, split);
  if (shown !== split) setSplit(shown);
  return (
    <div className={styles.markdown}>
      {textsOf(shown).map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks keep their positions while the text grows
        <Block key={index} text={block} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ text }: { readonly text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={linkTo}>
      {text}
    </ReactMarkdown>
  );
});

/** Only links to elsewhere are links: a path would be one of the dashboard's. */
function linkTo(url: string): string {
  return /^(?:https?:\/\/|mailto:)/i.test(url) ? url : "";
}

interface WithChildren {
  readonly children?: ReactNode;
}

function Link({ href, children }: WithChildren & { readonly href?: string | undefined }) {
  if (href === undefined || href === "") return <>{children}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function ImageLink({ src, alt }: { readonly src?: unknown; readonly alt?: string | undefined }) {
  const name = `Image: ${alt === undefined || alt === "" ? "no description" : alt}`;
  return <Link href={typeof src === "string" ? src : undefined}>{name}</Link>;
}

/** Every heading has the level below the page's, because an answer may begin with any. */
function Heading({ node, children }: WithChildren & ExtraProps) {
  return (
    <h3 data-level={node?.tagName} dir="auto">
      {children}
    </h3>
  );
}

function Table({ children }: WithChildren) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset groups inputs
    <div
      className={styles.table}
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by the keyboard (WCAG 2.1.1)
      tabIndex={0}
      aria-label="Table"
    >
      <table dir="auto">{children}</table>
    </div>
  );
}

function Pre({ node }: ExtraProps) {
  const code = node?.children[0];
  if (code?.type !== "element") return null;
  const names = code.properties.className;
  const language = Array.isArray(names) ? names.map(String).find((name) => name.startsWith("language-")) : "";
  const text = code.children.map((child) => (child.type === "text" ? child.value : "")).join("");
  return <CodeBlock code={text.replace(/\n$/, "")} language={language?.slice("language-".length) ?? ""} />;
}

function TaskMark({ checked }: { readonly checked?: boolean | undefined }) {
  return (
    <span role="img" aria-label={checked === true ? "Done" : "Not done"}>
      {checked === true ? "☑" : "☐"}
    </span>
  );
}

/** Each block has the direction of its own text, which may be Arabic or Hebrew. */
const COMPONENTS: Components = {
  p: ({ node: _, ...props }) => <p dir="auto" {...props} />,
  ul: ({ node: _, ...props }) => <ul dir="auto" {...props} />,
  ol: ({ node: _, ...props }) => <ol dir="auto" {...props} />,
  blockquote: ({ node: _, ...props }) => <blockquote dir="auto" {...props} />,
  a: Link,
  img: ImageLink,
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  table: Table,
  pre: Pre,
  input: TaskMark,
};
