import type { Logprob, TokenLogprob } from "../../conversation/answer.ts";
import { isJsonObject, type Json, type JsonObject, objectsIn } from "../../json/json.ts";
import { logprobOf } from "../logprobs.ts";

/** The probabilities of a candidate's tokens. Google has the chosen tokens in one list, and the probable ones in another. `undefined`: there are none. */
export function logprobsOf(result: Json | undefined): readonly TokenLogprob[] | undefined {
  if (!isJsonObject(result)) return undefined;
  const probable = objectsIn(result.topCandidates);
  const found = objectsIn(result.chosenCandidates).flatMap((chosen, index) => {
    const own = logprobIn(chosen);
    const top = objectsIn(probable[index]?.candidates).flatMap((one) => logprobIn(one) ?? []);
    return own === null ? [] : [{ ...own, top_logprobs: top }];
  });
  return found.length === 0 ? undefined : found;
}

/** Google leaves out members of 0, as the logarithm of a certain token. */
function logprobIn({ token, logProbability }: JsonObject): Logprob | null {
  return logprobOf(token, logProbability ?? 0);
}
