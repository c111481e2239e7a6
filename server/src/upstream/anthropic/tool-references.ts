import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf } from "../../json/members.ts";

/** Whether results of a conversation refer to tools that the client has found. */
export function hasToolReferences({ messages }: JsonObject): boolean {
  return arrayOf(messages).some((message) => withReferencesAsTexts(message) !== message);
}

/** A message in which results name the tools that the client has found in texts. The same message if there are none. */
export function withReferencesAsTexts(message: Json): Json {
  return edited(message, (block) => edited(block, asText));
}

function asText(block: Json): Json {
  if (!isJsonObject(block) || block.type !== "tool_reference" || typeof block.tool_name !== "string")
    return block;
  const { type: _, tool_name: name, ...others } = block;
  return { type: "text", text: `Found tool: ${name}`, ...others };
}

/** What has a content, with the blocks of this content edited. The same value if none of them changes. */
function edited(value: Json, edit: (block: Json) => Json): Json {
  const blocks = isJsonObject(value) ? arrayOf(value.content) : [];
  const written = blocks.map(edit);
  const isSame = written.every((block, index) => block === blocks[index]);
  return isSame || !isJsonObject(value) ? value : { ...value, content: written };
}
