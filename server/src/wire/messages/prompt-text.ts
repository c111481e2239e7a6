import type { Json, JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf } from "../../json/members.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type { PromptText } from "../../tokens/token-estimate.ts";

/**
 * What a model reads of a request of the Messages API: instructions, tools with their schemas, texts, thoughts, tool calls with their
 * inputs and results. Images, files and signatures are left out.
 */
export function promptTextOf({ system, messages, tools }: JsonObject): PromptText {
  const text = new TextTally();
  addContent(system, text);
  const list = arrayOf(messages);
  for (const message of list) addContent(objectOf(message).content, text);
  for (const tool of arrayOf(tools)) addTool(tool, text);
  return { text, messages: list.length };
}

function addTool(tool: Json | undefined, text: TextTally): void {
  const { name, description, input_schema: schema } = objectOf(tool);
  addStrings(text, name, description);
  if (schema !== undefined) text.add(JSON.stringify(schema));
}

function addContent(content: Json | undefined, text: TextTally): void {
  if (typeof content === "string") text.add(content);
  for (const block of arrayOf(content)) addBlock(objectOf(block), text);
}

function addBlock(block: JsonObject, text: TextTally): void {
  const { type, name, title, source, content } = block;
  if (type === "tool_use" || type === "server_tool_use") {
    addStrings(text, name);
    text.add(JSON.stringify(block.input ?? {}));
  } else if (type === "browser_state") {
    text.add(JSON.stringify({ tabs: block.tabs, state_changes: block.state_changes }));
  } else if (type === "document") {
    const { type: kind, data, content: inner } = objectOf(source);
    addStrings(text, title, block.context, kind === "text" ? data : undefined);
    addContent(inner, text);
  } else {
    // The results of tools, and blocks that are not known, have their blocks in `content`.
    addStrings(text, block.text, block.thinking, type === "search_result" ? title : undefined);
    addContent(content, text);
    addTool(objectOf(block.tool).definition, text);
  }
}

function addStrings(text: TextTally, ...values: readonly (Json | undefined)[]): void {
  for (const value of values) if (typeof value === "string") text.add(value);
}
