import type { client } from "../../../api/client.ts";
import { MAX_COLOURS } from "../../../components/chart/colours.ts";

/** How an upstream answered over time. */
export type History = Awaited<ReturnType<typeof client.operator.upstreamHistory.query>>["upstreams"][number];

/** What the charts of an upstream show, a value for each interval; `null` where there were no requests. */
export interface HistoryFigures {
  readonly requests: number;
  readonly errors: number;
  /** From 0 to 1. */
  readonly errorRates: readonly (number | null)[];
  /** In milliseconds. */
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  /** The most frequent codes, as many as there are colours, and the others as one. */
  readonly codes: readonly {
    readonly code: string;
    readonly values: readonly number[];
    readonly isOther: boolean;
  }[];
}

/** The figures of an upstream in the intervals of a period. */
export function historyOf(
  { intervals }: Pick<History, "intervals">,
  starts: readonly Date[],
): HistoryFigures {
  const byStart = new Map(intervals.map((row) => [row.start.getTime(), row]));
  const found = starts.map((start) => byStart.get(start.getTime()));
  const shown = found.filter((row) => row !== undefined);
  const totals = new Map<string, number>();
  for (const { code, requests } of shown.flatMap(({ errorCodes }) => errorCodes)) {
    totals.set(code, (totals.get(code) ?? 0) + requests);
  }
  const ranked = [...totals]
    .toSorted(([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? -1 : 1))
    .map(([code]) => code);
  const valuesOf = (codes: readonly string[]) =>
    found.map((row) =>
      (row?.errorCodes ?? []).reduce(
        (sum, { code, requests }) => sum + (codes.includes(code) ? requests : 0),
        0,
      ),
    );
  const rest = ranked.slice(MAX_COLOURS);
  return {
    requests: shown.reduce((sum, { requests }) => sum + requests, 0),
    errors: shown.reduce((sum, { errors }) => sum + errors, 0),
    errorRates: found.map((row) => (row === undefined ? null : row.errors / row.requests)),
    p50: found.map((row) => row?.latencyMs.p50 ?? null),
    p95: found.map((row) => row?.latencyMs.p95 ?? null),
    codes: [
      ...ranked.slice(0, MAX_COLOURS).map((code) => ({ code, values: valuesOf([code]), isOther: false })),
      ...(rest.length === 0 ? [] : [{ code: "rest", values: valuesOf(rest), isOther: true }]),
    ],
  };
}
