import { within } from "../errors/deadline.ts";

/** `/readyz` answers within two seconds, whatever hangs. */
const ANSWER_MS = 1_700;

/** Parts that a node can't do its work without, each with a question that it answers when it works. */
export type NeededParts = Readonly<Record<string, () => PromiseLike<unknown>>>;

/**
 * Asks all parts at once: the first of them, in their order, that does not answer in time, or `null`. Whoever asks while
 * others wait for the answer is given the same one, so that a flood of questions is one.
 */
export function whatDoesNotAnswer(parts: NeededParts): () => Promise<string | null> {
  let asking: Promise<string | null> | null = null;
  const ask = async () => {
    const answers = Object.entries(parts).map(async ([part, question]) => {
      const reason = `the ${part} does not answer`;
      return within(ANSWER_MS, async () => question()).then(
        () => null,
        () => reason,
      );
    });
    return (await Promise.all(answers)).find((reason) => reason !== null) ?? null;
  };
  return () => {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
}
