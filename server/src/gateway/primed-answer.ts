import type { Upstream } from "../catalog/catalog.ts";
import type { Failure } from "../errors/failure.ts";
import type { JsonObject } from "../json/json.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import type { WholeAnswer, WireAnswer } from "../upstream/dialect.ts";
import { withFirstItem } from "./primed-stream.ts";
import { cutCredential, errorWithoutCredential } from "./without-credential.ts";

/**
 * Waits for the first event of a stream. It does not know the request: the functions of a stream, which are made here, last as long as the stream,
 * and would keep a prompt of any length in memory.
 */
export function primedAnswer(
  answer: WireAnswer,
  upstream: Upstream,
  ended: (reason: unknown) => void,
): WireAnswer | Promise<WireAnswer> {
  if (answer.kind === "whole") return wholeAnswer(answer, upstream, ended);
  const change = cutCredential(upstream);
  const changeError = (reason: unknown) => errorWithoutCredential(reason, upstream);
  const { stored } = answer;
  return withFirstItem(answer.events, { change, changeError, ended }).then((events) => ({
    ...answer,
    events,
    last: (usage: Usage, changes: JsonObject) => change(answer.last(usage, changes)),
    // A failure may repeat what was received before it.
    controlEvents: {
      heartbeat: () => answer.controlEvents.heartbeat(),
      failure: (failure: Failure) => change(answer.controlEvents.failure(failure)),
    },
    ...(stored && { stored: (usage: Usage) => change(stored(usage)) }),
  }));
}

/** A whole answer, without the credential of its upstream. */
export function wholeAnswer(
  answer: WholeAnswer,
  upstream: Upstream,
  ended: (reason: unknown) => void,
): WholeAnswer {
  ended(null);
  const change = cutCredential(upstream);
  const body = change(answer.body);
  const { stored } = answer;
  if (body === answer.body && stored === undefined) return answer;
  return { ...answer, body, ...(stored && { stored: () => change(stored()) }) };
}
