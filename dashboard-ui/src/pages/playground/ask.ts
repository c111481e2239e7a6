import { watchedFetch } from "../../api/connection.ts";
import { type Answer, extended, NO_ANSWER } from "./answer.ts";
import type { ChatBody } from "./chat-state.ts";
import { ChatFailed, failureIn, refusalIn } from "./failure.ts";
import { eventsOf } from "./sse.ts";

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
 * The answer to a request as it grows, from nothing said yet to the whole.
 *
 * @throws {ChatFailed} when the service refuses, or the answer breaks off; what `fetch` throws.
 */
export async function* ask({ body, keyUuid, signal }: Asked): AsyncGenerator<Told> {
  const response = await watchedFetch("/dashboard/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", "ostiary-key": keyUuid },
    body: JSON.stringify(body),
    cache: "no-store",
    signal,
  });
  if (!response.ok) throw await refusalIn(response);
  const requestId = response.headers.get("x-request-id");
  yield { requestId, answer: NO_ANSWER };
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (response.body === null || !isStream) {
    yield { requestId, answer: extended(NO_ANSWER, await response.json()) };
    return;
  }
  let answer = NO_ANSWER;
  for await (const data of eventsOf(response.body)) {
    if (data === "[DONE]") return;
    const event: unknown = JSON.parse(data);
    const failed = failureIn(event, requestId);
    if (failed !== null) throw failed;
    answer = extended(answer, event);
    yield { requestId, answer };
  }
  // Every whole stream ends in `[DONE]`; a connection that was cut looks like an end.
  throw new ChatFailed({
    code: null,
    message: "The connection was lost before the answer was complete. Try again.",
    requestId,
    retryAfterMs: null,
  });
}
