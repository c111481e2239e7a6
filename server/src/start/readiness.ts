import { AdmissionStoreUnavailable } from "../admission/admission-store.ts";
import { databaseRefusalOf } from "../database/refusals.ts";
import { withTimeout } from "../errors/deadline.ts";

/** How Redis refuses the user or password of REDIS_URL. */
const REFUSED_SIGN_IN = /^(?:WRONGPASS|NOAUTH)\b/;

/** `/readyz` answers within two seconds, even if a part hangs. */
const ANSWER_MS = 1_700;

/** The parts that a node needs, each with a function that resolves if the part works. Sentences for the operator begin with their names. */
type NeededParts = Readonly<Record<string, () => PromiseLike<unknown>>>;

/**
 * Returns a function that asks all parts at once and resolves with the first, in their order, that does not answer in time, or
 * with `null`. Concurrent calls share one answer, so that a flood of requests costs the stores one question.
 */
export function firstUnavailable(parts: NeededParts): () => Promise<string | null> {
  let asking: Promise<string | null> | null = null;
  const ask = async () => {
    const answers = Object.entries(parts).map(([part, question]) =>
      withTimeout(ANSWER_MS, async () => question()).then(
        () => null,
        (error: unknown) => `${part} ${complaintAbout(error)}`,
      ),
    );
    return (await Promise.all(answers)).find((reason) => reason !== null) ?? null;
  };
  return () => {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
}

/** The end of a sentence that begins with the name of a part and says what is wrong with it. */
export function complaintAbout(error: unknown): string {
  if (!(error instanceof AdmissionStoreUnavailable && error.isRefused))
    return databaseRefusalOf(error) ?? "does not answer";
  const isSignIn = error.cause instanceof Error && REFUSED_SIGN_IN.test(error.cause.message);
  return isSignIn ? "refuses the sign-in" : "refuses to write";
}
