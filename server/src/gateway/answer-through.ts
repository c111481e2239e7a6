import type { AnswerHead, WireRequest } from "../conversation/wire.ts";
import type { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { imagesSent } from "../upstream/conversation-limits.ts";
import type { Dialect, UpstreamCall, WireAnswer } from "../upstream/dialect.ts";
import { translated } from "./translate.ts";

/** What a client asks for, whichever upstream answers. */
export interface ClientRequest {
  readonly request: WireRequest;
  /** The maximum tokens of the answer that are paid for; `null`: as many as the model gives. */
  readonly maxTokens: number | null;
  /** Counts the tokens of the request and its answer where an upstream does not. */
  readonly estimate: (produced: TextTally) => Promise<Usage>;
}

/** Forwards a request to an upstream of its own wire. For every other upstream request and answer are translated. */
export function answerThrough(
  dialect: Dialect,
  call: UpstreamCall,
  clientRequest: ClientRequest,
  head: () => AnswerHead,
): Promise<WireAnswer> {
  const { request, maxTokens, estimate } = clientRequest;
  if (dialect.own?.wire !== request.wire) return answerTranslated(dialect, call, clientRequest, head);
  // Fields are listed by name, because spreading objects costs more CPU time.
  const { upstream, upstreamModel, publicModel, signal, memory } = call;
  return dialect.own
    .forward({ upstream, upstreamModel, publicModel, signal, memory, request, maxTokens })
    .then((answer) => ("kind" in answer ? answer : translated(answer, { request, head: head(), estimate })));
}

async function answerTranslated(
  dialect: Dialect,
  { upstream, upstreamModel, publicModel, signal, memory }: UpstreamCall,
  { request, maxTokens, estimate }: ClientRequest,
  head: () => AnswerHead,
): Promise<WireAnswer> {
  const conversation = request.conversation();
  const { stream } = request;
  const call = { upstream, upstreamModel, publicModel, signal, memory, conversation, stream, maxTokens };
  const { events, ignored } = await dialect.converse(call);
  const answer = { events, ignored: [...conversation.ignored, ...ignored] };
  const images = imagesSent(conversation, ignored);
  return await translated(answer, { request, head: head(), estimate, images });
}
