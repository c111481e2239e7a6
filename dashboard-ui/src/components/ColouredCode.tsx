import bash from "highlight.js/lib/languages/bash";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import { memo, type ReactNode } from "react";
import styles from "./ColouredCode.module.css";

const lowlight = createLowlight({ bash, ini, json, python, typescript, yaml });
lowlight.registerAlias({
  bash: ["console", "shell"],
  // The grammar of TypeScript contains that of JavaScript.
  typescript: ["javascript", "js", "jsx", "mjs", "cjs"],
});

/** Colouring takes a millisecond for every thousand characters or so, which an answer that grows pays often. */
const MAX_CHARACTERS = 20_000;

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

interface ColouredCodeProps {
  readonly text: string;
  /** A language's name or alias, as after the fence of a code block. Other code has no colours. */
  readonly language: string;
}

/** Code as elements with colours, which needs no HTML to be parsed. */
export const ColouredCode = memo(function ColouredCode({ text, language }: ColouredCodeProps) {
  const name = language.toLowerCase();
  if (text.length > MAX_CHARACTERS || !lowlight.registered(name)) return text;
  return lowlight.highlight(name, text, { prefix: "" }).children.map(render);
});

function render(node: Node, index: number): ReactNode {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const [kind] = Array.isArray(node.properties.className) ? node.properties.className : [];
  return (
    <span key={index} className={styles[String(kind)]}>
      {node.children.map(render)}
    </span>
  );
}
