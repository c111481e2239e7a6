export interface ChartSeries {
  readonly label: string;
  /** One for each time; `null` where there is none. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  /** What is shown, for those who can't see it: "Requests by model, the last 30 days". */
  readonly label: string;
  /** When each interval begins, ascending. */
  readonly times: readonly Date[];
  readonly interval: "hour" | "day" | "month";
  readonly series: readonly ChartSeries[];
  readonly kind?: "stacked-bars" | "line";
  /** A value in words: "1,234", "$0.52". */
  readonly format: (value: number) => string;
  readonly heightPx?: number;
}

/** Values over time. */
export function Chart({ label }: ChartProps) {
  return <div role="img" aria-label={label} />;
}
