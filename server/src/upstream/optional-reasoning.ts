import { type Conversation, nameOf } from "../conversation/conversation.ts";
import type { ConversationAnswer, ConversationCall, Dialect } from "./dialect.ts";
import { effortIn } from "./reasoning-effort.ts";
import { RefusedForms } from "./refused-forms.ts";

/** Words by which upstreams refuse reasoning that a model does not have, or not in such a request. */
const ABOUT_REASONING = /reasoning|thinking|effort/i;
/** OpenAI's models that think only when asked accept these fields only without thinking. */
const ABOUT_REASONING_OR_SAMPLING = /reasoning|thinking|effort|temperature|top_p/i;
const NAME = String.raw`\w*(?:reasoning|thinking|effort)\w*`;
const NOT_KNOWN = "un(?:supported|known|recognized|expected)";
const REFUSED_AFTER = `(?:${NOT_KNOWN}|not (?:supported|permitted|allowed|available))`;
const REFUSED_BEFORE = `(?:${NOT_KNOWN}|extra|not support|n't support)`;
/**
 * Words by which they refuse what a model does not have, whatever the conversation. A name is looked for from the start of a word only, and to
 * its end: otherwise the time grows with the cube of a message's length, and an upstream, or a client that it quotes, could stop a node.
 */
const UNSUPPORTED = new RegExp(
  [
    String.raw`\b(?<before>${NAME})\b.{0,40}?${REFUSED_AFTER}`,
    String.raw`\b(?<beginning>${NAME})${REFUSED_AFTER}`,
    String.raw`${REFUSED_BEFORE}(?:(?<ending>${NAME})|.{0,60}?\b(?<after>${NAME}))`,
  ].join("|"),
  "is",
);

/**
 * A dialect that sends a conversation once more without its reasoning if that is optional and the upstream refuses it: some clients ask every
 * model to think, and only the upstream knows which can. It remembers that for requests that ask for the same.
 */
export function withOptionalReasoning(dialect: Dialect, monotonicMs: () => number): Dialect {
  const refused = new RefusedForms(UNSUPPORTED, monotonicMs);
  return {
    ...dialect,
    converse: async (call) => {
      const { conversation } = call;
      const { reasoning } = conversation;
      if (reasoning?.isOptional !== true) return await dialect.converse(call);
      // An effort that only follows from a budget must not cost the sampling that the client asks for.
      const isFromBudget = reasoning.effort === null && reasoning.budgetTokens !== null;
      return await refused.ask(call, {
        send: (form) => (form === "usual" ? dialect.converse(call) : withoutReasoning(dialect, call)),
        clientText: () => clientTextOf(conversation),
        kind: kindOf(call),
        retriedAfter: isFromBudget ? ABOUT_REASONING_OR_SAMPLING : ABOUT_REASONING,
      });
    },
  };
}

async function withoutReasoning(dialect: Dialect, call: ConversationCall): Promise<ConversationAnswer> {
  const { conversation } = call;
  const answer = await dialect.converse({ ...call, conversation: { ...conversation, reasoning: null } });
  return { ...answer, ignored: [...answer.ignored, nameOf(conversation, "reasoning")] };
}

/**
 * What a request asks for beside its turns: the effort, and which fields it has. A model may take another effort, or the same one without tools.
 */
function kindOf({ conversation, stream }: ConversationCall): string {
  const { reasoning } = conversation;
  const effort = reasoning === null ? null : (effortIn(reasoning) ?? "usual");
  const fields = Object.entries(conversation).flatMap(([name, value]) =>
    value === null || (Array.isArray(value) && value.length === 0) ? [] : [name],
  );
  return [effort, (reasoning?.summary ?? null) !== null, stream, ...fields].join(" ");
}

/** The texts of a conversation, in JSON. */
function clientTextOf({ turns, tools, format }: Conversation): string {
  return JSON.stringify({ turns, tools, format }, (name, value) => (name === "kind" ? undefined : value));
}
