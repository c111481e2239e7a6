import { ChatCompletionStream } from "../../../../sdk/src/session.ts";
import { sessionTransport } from "../../api/session-transport.ts";
import { type Answer, extended, NO_ANSWER } from "./answer.ts";
import type { ChatBody } from "./chat-state.ts";

export interface Asked {
  readonly body: ChatBody;
  /** The id of the key as which it is asked: its string is not known here. */
  readonly keyUuid: string;
  readonly signal: AbortSignal;
}

export interface Told {
  readonly requestId: string | null;
  readonly answer: Answer;
}

/**
 * The answer to a request as it grows, from nothing said yet to the whole. The request is sent once.
 *
 * @throws what the SDK throws when the service refuses, can't be reached, or the answer breaks off.
 */
export async function* ask({ body, keyUuid, signal }: Asked): AsyncGenerator<Told> {
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
