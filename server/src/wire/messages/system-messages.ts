import { withoutAttribution } from "../../conversation/attribution.ts";
import type { TextPart } from "../../conversation/conversation.ts";
import type { Json, JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf } from "../../json/members.ts";
import { type BlockReading, textPart } from "./read-blocks.ts";

/** A text of instructions, for models of other providers than Anthropic. */
export function instructionPart(block: JsonObject, at: string, { ignored }: BlockReading): TextPart {
  const part = textPart(block, at);
  const text = withoutAttribution(part.text);
  if (text === part.text) return part;
  ignored.push(at);
  return { ...part, text };
}

/** The value of `clear_at` for instructions that are shown for one turn of the user only. */
const FOR_ONE_TURN = "next_user_message";

/** An effort that a message of the conversation sets, and its place. */
export interface LateEffort {
  readonly effort: Json;
  readonly at: string;
}

/**
 * The effort that instructions within the conversation set for the next answer; `null` if none do. As Anthropic documents it, an effort directly
 * after a message of the user is for the answer to that message, and any other effort is for what follows the user's next message. Results of tools
 * do not count as messages of the user.
 */
export function lateEffortOf(messages: readonly Json[]): LateEffort | null {
  let present: LateEffort | null = null;
  let next: LateEffort | null = null;
  let isAfterUser = false;
  for (const [index, message] of messages.entries()) {
    const { role, content, output_config: config } = objectOf(message);
    if (role !== "system") {
      isAfterUser = role === "user" && hasWords(content);
      if (isAfterUser) present = next ?? present;
      if (isAfterUser) next = null;
      continue;
    }
    const { effort = null } = objectOf(config);
    if (effort === null) continue;
    const late = { effort, at: `messages.${index}.output_config.effort` };
    if (isAfterUser) present = late;
    else next = late;
  }
  return present;
}

/** Whether the model stops seeing instructions once a message of the user follows. */
export function isForOneTurn(message: Json): boolean {
  const { role, clear_at: clearing } = objectOf(message);
  return role === "system" && clearing === FOR_ONE_TURN;
}

/** Whether a value of `clear_at` is known. */
export function isKnownClearing(clearing: Json | undefined): boolean {
  return clearing === undefined || clearing === null || clearing === "never" || clearing === FOR_ONE_TURN;
}

function hasWords(content: Json | undefined): boolean {
  return (
    typeof content === "string" || arrayOf(content).some((block) => objectOf(block).type !== "tool_result")
  );
}
