import { ChatCompletionStream } from "../../../../sdk/src/session.ts";
import { sessionTransport } from "../../api/session-transport.ts";
import { type Answer, extended, NO_ANSWER } from "./answer.ts";
import type { ChatBody } from "./chat-state.ts";

export interface Asked {
  readonly body: ChatBody;
  /** The id of the key that the request uses. The dashboard does not know the key's string. */
  readonly keyUuid: string;
  readonly signal: AbortSignal;
}

interface AnswerProgress {
  readonly requestId: string | null;
  readonly answer: Answer;
}

/**
 * Sends a request once and yields its growing answer, from empty to complete.
 *
 * @throws the SDK's errors when the service refuses, is unreachable, or the answer is interrupted.
 */
export async function* ask({ body, keyUuid, signal }: Asked): AsyncGenerator<AnswerProgress> {
  const begun = await sessionTransport.send(
    { method: "POST", path: "/chat/completions", body },
    { signal, headers: { "ostiary-key": keyUuid } },
  );
  const requestId = begun.wire.header("x-request-id");
  let answer = NO_ANSWER;
  yield { requestId, answer };
  const isStream = begun.wire.header("content-type")?.startsWith("text/event-stream") === true;
  const parts = isStream ? new ChatCompletionStream(begun) : [await sessionTransport.read(begun)];
  for await (const part of parts) {
    answer = extended(answer, part);
    yield { requestId, answer };
  }
}
