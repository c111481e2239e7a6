import type { AssistantPart, Conversation } from "../conversation/conversation.ts";
import { isRefusalAbout } from "./refusal.ts";

/** A request that can be sent without the thoughts of its conversation. */
export interface ThoughtfulRequest<Answer> {
  readonly send: (keepsThoughts: boolean) => Promise<Answer>;
  readonly hasThoughts: () => boolean;
}

/**
 * Sends a request, and once more without the thoughts of its conversation if the upstream can't read them. They are encrypted or signed for the
 * server whose model has had them, and a conversation may be continued by another one: the client has chosen another model, or the first upstream
 * of a model has failed. Nothing is remembered, because it is the conversation that decides.
 *
 * @param words Those of the refusal.
 * @throws what `send` throws.
 */
export async function askWithThoughts<Answer>(
  words: RegExp,
  { send, hasThoughts }: ThoughtfulRequest<Answer>,
): Promise<Answer> {
  try {
    return await send(true);
  } catch (thrown) {
    if (!isRefusalAbout(words, thrown) || !hasThoughts()) throw thrown;
    return await send(false);
  }
}

/** Whether a conversation has what only a certain server can read. */
export function hasThoughts({ turns }: Conversation): boolean {
  return turns.some((turn) => turn.role === "assistant" && turn.parts.some(isSigned));
}

/** A conversation without thoughts, and without the signatures of calls. */
export function withoutThoughts(conversation: Conversation): Conversation {
  const turns = conversation.turns.map((turn) =>
    turn.role === "assistant" ? { ...turn, parts: turn.parts.flatMap(unsigned) } : turn,
  );
  return { ...conversation, turns };
}

function isSigned(part: AssistantPart): boolean {
  return (part.kind === "reasoning" || part.kind === "call") && part.signature !== null;
}

function unsigned(part: AssistantPart): readonly AssistantPart[] {
  if (part.kind === "reasoning") return [];
  return part.kind === "call" ? [{ ...part, signature: null }] : [part];
}
