import type { LogSummary } from "../../api/types.ts";

/** A bar: the heights of all its requests, and of those that failed. */
interface Bar {
  readonly index: number;
  readonly requests: number;
  readonly errors: number;
}

/** The minimum share of the height: a single request or error among thousands must be visible. */
const MIN_SHARE = 0.06;

/** The bars of a histogram, without those that have no height. */
export function barsOf(buckets: LogSummary["buckets"], height: number): readonly Bar[] {
  const top = Math.max(1, ...buckets.map(({ requests }) => requests));
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(MIN_SHARE, count / top) * height);
  return buckets.flatMap(({ requests, errors }, index) =>
    requests === 0 ? [] : [{ index, requests: heightOf(requests), errors: heightOf(errors) }],
  );
}
