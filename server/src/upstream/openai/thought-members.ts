import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";

/** Words by which servers refuse the member that contains a thought, whatever the thought is: Groq's, Cerebras' and Mistral's. */
export const THOUGHT_UNKNOWN =
  /(?<before>\b(?:reasoning(?:_content|_details)?|thinking_blocks)\b).{0,40}?(?:un(?:supported|known|recognized|expected)|not (?:supported|permitted|allowed))|(?:un(?:supported|known|recognized|expected)|extra|additional).{0,60}?(?<after>\b(?:reasoning(?:_content|_details)?|thinking_blocks)\b)/is;
/** Words by which other servers refuse a message that has a thought. The thought itself may be at fault. */
export const WITH_THOUGHT = /\b(?:reasoning(?:_content|_details)?|thinking_blocks)\b/i;

/** The members of a message in which servers and clients have thoughts. OpenAI has none. */
const MEMBERS = ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];

/** The messages of a chat completion without thoughts. The same messages if they have none. */
export function withoutThoughts(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages) || !messages.some(hasThought)) return messages;
  return messages.map((message: Json) => {
    if (!hasThought(message)) return message;
    return Object.fromEntries(Object.entries(message).filter(([name]) => !MEMBERS.includes(name)));
  });
}

function hasThought(message: Json): message is JsonObject {
  return isJsonObject(message) && MEMBERS.some((name) => (message[name] ?? null) !== null);
}
