import type { Logprob, TokenLogprob } from "../conversation/answer.ts";
import { heldNumber } from "../json/exact-numbers.ts";
import { type Json, type JsonObject, objectsIn } from "../json/json.ts";

/** A longer text is no token. Its bytes would take several times its length. */
const MAX_TOKEN_LENGTH = 1_024;

/** The probabilities of tokens in the form of OpenAI. What has no token or no probability is left out. `undefined`: there are none. */
export function logprobsIn(list: Json | undefined): readonly TokenLogprob[] | undefined {
  const found = objectsIn(list).flatMap((element) => {
    const own = logprobIn(element);
    const top = objectsIn(element.top_logprobs).flatMap((one) => logprobIn(one) ?? []);
    return own === null ? [] : [{ ...own, top_logprobs: top }];
  });
  return found.length === 0 ? undefined : found;
}

function logprobIn({ token, logprob, bytes }: JsonObject): Logprob | null {
  return logprobOf(token, logprob, bytesIn(bytes));
}

/**
 * A token with the logarithm of its probability; `null` if it has none.
 *
 * @param bytes Absent: its upstream does not tell them, and those of its text stand for them. The Responses API has them of every token.
 */
export function logprobOf(
  token: Json | undefined,
  logprob: Json | undefined,
  bytes: readonly number[] | null = null,
): Logprob | null {
  const value = heldNumber(logprob);
  if (typeof token !== "string" || token.length > MAX_TOKEN_LENGTH || value === null) return null;
  return { token, logprob: value, bytes: bytes ?? [...new TextEncoder().encode(token)] };
}

function bytesIn(bytes: Json | undefined): readonly number[] | null {
  return Array.isArray(bytes) ? bytes.filter((byte: Json) => typeof byte === "number") : null;
}
