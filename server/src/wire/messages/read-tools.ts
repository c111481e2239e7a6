import { cannot, type TextPart, type Tool, type ToolChoice } from "../../conversation/conversation.ts";
import { isJsonObject, type Json } from "../../json/json.ts";
import { type BlockReading, blocksOf, cacheOf, textPart } from "./read-blocks.ts";

/** Tools with a type of Anthropic's are run by Anthropic, or have a schema that only its models know. */
export function toolsOf(value: Json | undefined, ignored: string[]): Tool[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((tool: Json, index) => toolOf(tool, `tools.${index}`, ignored));
}

function toolOf(tool: Json | undefined, at: string, ignored: string[]): Tool[] {
  if (!isJsonObject(tool)) throw cannot(at, "must be a tool");
  const { type, name, description, input_schema: schema, strict } = tool;
  if (type !== undefined && type !== null && type !== "custom") {
    ignored.push(at);
    return [];
  }
  if (typeof name !== "string") throw cannot(`${at}.name`, "must be the name of the tool");
  return [
    {
      name,
      description: typeof description === "string" ? description : null,
      parameters: isJsonObject(schema) ? schema : null,
      strict: typeof strict === "boolean" ? strict : null,
      cache: cacheOf(tool),
    },
  ];
}

export function toolChoiceOf(
  value: Json | undefined,
  tools: readonly Tool[],
  ignored: string[],
): ToolChoice | null {
  if (!isJsonObject(value) || tools.length === 0) return null;
  switch (value.type) {
    case "auto":
    case "none":
      return { kind: value.type };
    case "any":
      return { kind: "required" };
    case "tool": {
      if (typeof value.name !== "string") throw cannot("tool_choice.name", "must be the name of a tool");
      if (tools.some(({ name }) => name === value.name)) return { kind: "tool", name: value.name };
      ignored.push("tool_choice");
      return null;
    }
    default:
      throw cannot("tool_choice.type", "must be auto, any, tool or none");
  }
}

export function isParallel(choice: Json | undefined): boolean {
  return !isJsonObject(choice) || choice.disable_parallel_tool_use !== true;
}

/** The tools of a request, and those that instructions within its conversation have added. */
export function withAdded(tools: readonly Tool[], added: readonly Tool[]): Tool[] {
  const byName = new Map([...tools, ...added].map((tool) => [tool.name, tool]));
  return [...byName.values()];
}

/**
 * The texts of instructions. Within a conversation they may also add tools, with their definitions. Tools that are named only, or are
 * removed, stay as they are.
 */
export function instructionParts(
  content: Json | undefined,
  at: string,
  { added, ignored }: BlockReading,
): TextPart[] {
  return blocksOf(content, at).flatMap(({ block, at: blockAt }) => {
    if (block.type === "text") return [textPart(block, blockAt)];
    if (block.type !== "tool_addition" && block.type !== "tool_removal") {
      throw cannot(blockAt, "must be a text block");
    }
    const { type, definition } = isJsonObject(block.tool) ? block.tool : {};
    if (type === "tool_definition") added.push(...toolOf(definition, `${blockAt}.tool.definition`, ignored));
    else ignored.push(blockAt);
    return [];
  });
}
