import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { markedInstructions } from "../write-conversation.ts";

/** The value of `clear_at` for instructions that the model sees until the user's next message. */
const FOR_ONE_TURN = "next_user_message";

/** Whether a request of the Messages API has instructions within its conversation, which only some models take. */
export function hasLateInstructions({ messages }: JsonObject): boolean {
  return Array.isArray(messages) && messages.some(isInstructions);
}

/** Whether a message is one of instructions. */
export function isInstructions(message: Json): message is JsonObject {
  return isJsonObject(message) && message.role === "system";
}

/** The messages with their instructions as texts of the user's, in their places: after the results of tools, which have to come first. */
export function withUsersInstructions(messages: readonly Json[]): readonly Json[] {
  const written: Json[] = [];
  /** Instructions after what the model says. They are joined to what the user says next. */
  let waiting: readonly JsonObject[] = [];
  const lastOfUser = messages.findLastIndex(isUsers);
  for (const [index, message] of messages.entries()) {
    if (isInstructions(message)) {
      const isOver = message.clear_at === FOR_ONE_TURN && index < lastOfUser;
      const blocks = isOver ? [] : instructionsIn(message);
      const last = written.at(-1);
      if (last !== undefined && isUsers(last)) written[written.length - 1] = withBlocks(last, blocks);
      else waiting = [...waiting, ...blocks];
      continue;
    }
    if (isUsers(message)) written.push(withBlocks(message, waiting));
    else written.push(...ofUser(waiting), message);
    waiting = [];
  }
  return [...written, ...ofUser(waiting)];
}

/** The tools of a request with those whose definitions its instructions add. The same value if they add none. */
export function withAddedTools(tools: Json | undefined, messages: readonly Json[]): Json | undefined {
  const added = messages
    .filter(isInstructions)
    .flatMap(({ content }) => blocksOf(content).flatMap(definitionIn));
  if (added.length === 0) return tools;
  const names = new Set(added.map(({ name }) => name));
  const others = Array.isArray(tools) ? tools.filter((tool: Json) => !isNamed(tool, names)) : [];
  return [...others, ...added];
}

function isUsers(message: Json): message is JsonObject {
  return isJsonObject(message) && message.role === "user";
}

/** The texts of a message of instructions as one block, which is cached if one of them is. */
function instructionsIn({ content }: JsonObject): readonly JsonObject[] {
  const blocks = blocksOf(content);
  const texts = blocks.flatMap(({ text }) => (typeof text === "string" && text !== "" ? [{ text }] : []));
  if (texts.length === 0) return [];
  const cache = blocks.findLast(({ cache_control: own = null }) => own !== null)?.cache_control;
  return [
    {
      type: "text",
      text: markedInstructions(texts),
      ...(cache === undefined ? {} : { cache_control: cache }),
    },
  ];
}

function withBlocks(message: JsonObject, blocks: readonly JsonObject[]): JsonObject {
  return blocks.length === 0 ? message : { ...message, content: [...blocksOf(message.content), ...blocks] };
}

function ofUser(content: readonly JsonObject[]): readonly JsonObject[] {
  return content.length === 0 ? [] : [{ role: "user", content }];
}

function blocksOf(content: Json | undefined): readonly JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

/** The tool that a block of instructions adds. One that is only named is a tool of the request. */
function definitionIn({ type, tool }: JsonObject): readonly JsonObject[] {
  const definition = type === "tool_addition" && isJsonObject(tool) ? tool.definition : undefined;
  return isJsonObject(definition) ? [definition] : [];
}

function isNamed(tool: Json, names: ReadonlySet<Json | undefined>): boolean {
  return isJsonObject(tool) && names.has(tool.name);
}
