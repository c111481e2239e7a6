import { withTimeout } from "../errors/deadline.ts";
import { complaintAbout } from "./readiness.ts";

const PROBE_TIMEOUT_MS = 2_000;

/** The answer of a store. */
interface StoreAnswer {
  readonly isUp: boolean;
  /** What it did instead, as the end of a sentence that begins with its name, such as `refuses to write`; `null` if it answered. */
  readonly problem: string | null;
  /** How long it took, in milliseconds; `null` if it did not answer in time. */
  readonly ms: number | null;
}

export type StoreProbe = ReturnType<typeof probeOf>;

/**
 * Measures how long a store takes to answer.
 *
 * @param onChange is called when the store stops answering, with the error, and with `null` when it answers again. It is assumed to answer at
 * first.
 */
export function probeOf(
  ask: () => PromiseLike<unknown>,
  monotonicMs: () => number,
  onChange: (error: unknown) => void,
) {
  let last: StoreAnswer | null = null;
  return {
    /** The last measurement; `null` before the first. */
    get last() {
      return last;
    },
    /** Asks the store. Never rejects. */
    measure: async (): Promise<void> => {
      const startedMs = monotonicMs();
      const error = await withTimeout(PROBE_TIMEOUT_MS, async () => ask()).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      const isUp = error === null;
      const wasUp = last?.isUp ?? true;
      last = isUp
        ? { isUp, problem: null, ms: monotonicMs() - startedMs }
        : { isUp, problem: complaintAbout(error), ms: null };
      if (isUp !== wasUp) onChange(error);
    },
  };
}
