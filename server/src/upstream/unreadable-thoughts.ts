import type { AssistantPart, Conversation } from "../conversation/conversation.ts";

/**
 * A conversation without thoughts, and without the signatures of calls, for an upstream that can't read them. They are encrypted or signed for the
 * server whose model has had them, and a conversation may be continued by another one: the client has chosen another model, or the first upstream
 * of a model has failed.
 */
export function withoutThoughts(conversation: Conversation): Conversation {
  const turns = conversation.turns.map((turn) =>
    turn.role === "assistant" ? { ...turn, parts: turn.parts.flatMap(unsigned) } : turn,
  );
  return { ...conversation, turns };
}

function unsigned(part: AssistantPart): readonly AssistantPart[] {
  if (part.kind === "reasoning") return [];
  return part.kind === "call" ? [{ ...part, signature: null }] : [part];
}
