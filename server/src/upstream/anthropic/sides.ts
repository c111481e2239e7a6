import type { AssistantPart, TextPart, Turn } from "../../conversation/conversation.ts";
import { markedInstructions } from "../write-conversation.ts";

/** The provider of the signatures of thoughts. */
const ANTHROPIC_SIGNATURE = "anthropic";

type Side = "system" | "user" | "assistant";

/** Turns of one side that follow each other. They are one message. */
export interface Group {
  readonly side: Side;
  readonly turns: Turn[];
}

/**
 * The turns of a conversation by the sides that they are of. The results of tools are the user's. Turns without anything that is sent are left out.
 *
 * Anthropic takes instructions before the conversation, and within it between what the user and what the model says, but only for some of its models.
 * All other instructions stay in their place as a message of the user, with a mark.
 *
 * @param takesLateInstructions Whether the model takes instructions within a conversation.
 */
export function sidesOf(turns: readonly Turn[], takesLateInstructions: boolean): readonly Group[] {
  const groups = grouped(turns.filter(isSent));
  const placed = groups.flatMap((group, index) => {
    const before = groups[index - 1];
    if (group.side !== "system" || before === undefined) return group.turns;
    const isBetween = before.side === "user" && groups[index + 1]?.side !== "user";
    return takesLateInstructions && isBetween ? group.turns : group.turns.map(asUsers);
  });
  return grouped(placed);
}

function grouped(turns: readonly Turn[]): readonly Group[] {
  const groups: Group[] = [];
  for (const turn of turns) {
    const side = turn.role === "tool" ? "user" : turn.role;
    const last = groups.at(-1);
    if (last?.side === side) last.turns.push(turn);
    else groups.push({ side, turns: [turn] });
  }
  return groups;
}

function asUsers(turn: Turn): Turn {
  if (turn.role !== "system") return turn;
  const text = markedInstructions(turn.parts);
  const cache = turn.parts.findLast((part) => part.cache !== null)?.cache ?? null;
  const part: TextPart = { kind: "text", text, cache, at: turn.parts[0]?.at ?? "" };
  return { role: "user", parts: [part] };
}

/** Whether anything of a turn is sent. Anthropic refuses a message without content. */
function isSent({ role, parts }: Turn): boolean {
  switch (role) {
    case "system":
    case "user":
      return parts.some((part) => part.kind !== "text" || !isBlank(part.text));
    case "assistant":
      return parts.some(isWritten);
    case "tool":
      return true;
  }
}

/** Whether a part of a model is sent back: thoughts of other models and images are not. */
export function isWritten(part: AssistantPart): boolean {
  if (part.kind === "reasoning") return part.signature?.provider === ANTHROPIC_SIGNATURE;
  if (part.kind === "image") return false;
  return part.kind === "call" || !isBlank(part.text);
}

/** Anthropic refuses a text of nothing but white space, which models of other providers write before their calls. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}
