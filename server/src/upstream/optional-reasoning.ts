import { nameOf } from "../conversation/conversation.ts";
import { type ConversationAnswer, type ConversationCall, UpstreamRefused } from "./dialect.ts";

/** Words by which upstreams refuse reasoning that a model does not have. */
const ABOUT_REASONING = /reasoning|thinking|effort/i;

/**
 * Sends a conversation, and once more without its reasoning if that is optional and the upstream refuses it: some clients ask every
 * model to think, and only the upstream knows which can.
 *
 * @throws as `Dialect.converse`.
 */
export async function withOptionalReasoning<Call extends ConversationCall>(
  call: Call,
  send: (call: Call) => Promise<ConversationAnswer>,
): Promise<ConversationAnswer> {
  const { conversation } = call;
  if (conversation.reasoning?.isOptional !== true) return await send(call);
  try {
    return await send(call);
  } catch (thrown) {
    if (!isReasoningRefused(thrown)) throw thrown;
    const answer = await send({ ...call, conversation: { ...conversation, reasoning: null } });
    return { ...answer, ignored: () => [...answer.ignored(), nameOf(conversation, "reasoning")] };
  }
}

function isReasoningRefused(thrown: unknown): boolean {
  if (!(thrown instanceof UpstreamRefused) || (thrown.status !== 400 && thrown.status !== 422)) return false;
  const { message, param } = thrown.failure;
  return ABOUT_REASONING.test(`${param ?? ""} ${message}`);
}
