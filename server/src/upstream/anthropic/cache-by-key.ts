import type { CacheTtl, Conversation, Turn } from "../../conversation/conversation.ts";
import { isBlank } from "./sides.ts";

/** As long as Anthropic caches by default. */
const TTL: CacheTtl = "5m";

/**
 * A conversation that says where its cached beginnings end. OpenAI caches without being asked, and its clients, such as Codex, only name by a key the
 * requests that begin alike. Anthropic caches nothing without a mark: the instructions and the last message of the user or a tool get one.
 *
 * @returns the same conversation if it has no key, or marks of the client's own.
 */
export function markedByKey(conversation: Conversation): Conversation {
  const { promptCacheKey, turns, tools } = conversation;
  const isMarked = tools.some(({ cache }) => cache !== null) || turns.some(hasMark);
  if (promptCacheKey === null || isMarked) return conversation;
  const beginning = turns.findIndex(({ role }) => role !== "system");
  const leading = beginning === -1 ? turns.length : beginning;
  const marked = [leading - 1, turns.findLastIndex(({ role }) => role === "user" || role === "tool")];
  return {
    ...conversation,
    turns: turns.map((turn, index) => (marked.includes(index) ? withMark(turn) : turn)),
  };
}

function hasMark({ parts }: Turn): boolean {
  return parts.some(({ cache }) => cache !== null);
}

/** The turn with a mark at its last part. Blank texts are not sent. */
function withMark(turn: Turn): Turn {
  switch (turn.role) {
    case "system":
      return { ...turn, parts: markedLast(turn.parts) };
    case "user":
      return { ...turn, parts: markedLast(turn.parts) };
    case "tool":
      return { ...turn, parts: markedLast(turn.parts) };
    case "assistant":
      return turn;
  }
}

function markedLast<Part extends { readonly cache: CacheTtl | null; readonly text?: unknown }>(
  parts: readonly Part[],
): readonly Part[] {
  const last = parts.findLast(({ text }) => typeof text !== "string" || !isBlank(text));
  return parts.map((part) => (part === last ? { ...part, cache: TTL } : part));
}
