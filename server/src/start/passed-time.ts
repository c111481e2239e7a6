/** A smaller difference between the two clocks is not a suspension: the wall clock was rounded or corrected. */
const MIN_SUSPENDED_MS = 1_000;

interface PassedTimeParts {
  /** Milliseconds of a clock that never jumps, and stands still while the machine is suspended. */
  readonly monotonicMs: () => number;
  /** Milliseconds since 1970, by a clock that can be set. */
  readonly wallMs: () => number;
}

/**
 * Returns a function that reads how many milliseconds have passed since this call. The time for which the machine was suspended counts, for
 * example a virtual machine. It must be called about every second: it compares how far both clocks have moved since the call before.
 *
 * - It misses suspensions of less than a second, and those during which the wall clock stood still or was set back.
 * - It counts too much when the wall clock is set ahead, because that looks like a suspension. What depends on this clock must therefore end
 *   as soon as a store confirms that it was not needed.
 */
export function passedTime({ monotonicMs, wallMs }: PassedTimeParts): () => number {
  let last = { monotonicMs: monotonicMs(), wallMs: wallMs() };
  let passedMs = 0;
  return () => {
    const read = { monotonicMs: monotonicMs(), wallMs: wallMs() };
    const awakeMs = read.monotonicMs - last.monotonicMs;
    const wallPassedMs = read.wallMs - last.wallMs;
    passedMs += wallPassedMs - awakeMs > MIN_SUSPENDED_MS ? wallPassedMs : awakeMs;
    last = read;
    return passedMs;
  };
}
