import type { UsageTotals } from "../../api/types.ts";
import { type CsvColumn, downloadCsv } from "../../components/csv.ts";
import { formatCounted } from "../../components/format.ts";
import { toast } from "../../components/toast.ts";
import { type GroupName, groupsOf, totalsOf } from "./groups.ts";
import type { Grouping } from "./log-filter.ts";
import { daysIn, type Period } from "./period.ts";
import type { UsageAnswer } from "./queries.ts";

/** The usage of a group in an interval. */
interface Row {
  readonly start: Date;
  readonly end: Date;
  readonly group: GroupName;
  readonly totals: UsageTotals;
}

const FIGURES: readonly CsvColumn<Row>[] = [
  { name: "requests", read: ({ totals }) => totals.requests },
  { name: "errors", read: ({ totals }) => totals.errors },
  { name: "prompt_tokens", read: ({ totals }) => totals.promptTokens },
  { name: "completion_tokens", read: ({ totals }) => totals.completionTokens },
  { name: "cached_tokens", read: ({ totals }) => totals.cachedTokens },
  { name: "cost_nano_usd", read: ({ totals }) => totals.costNanoUsd },
];

const idOf = ({ group }: Row) => (group.isOther === true ? null : group.id);
const labelOf = ({ group }: Row) => group.label;

/** Named as in `/v1/usage` and in the exports of the console. */
const GROUPS: Readonly<Record<Grouping, readonly CsvColumn<Row>[]>> = {
  none: [],
  model: [{ name: "model", read: labelOf }],
  key: [
    { name: "key", read: idOf },
    { name: "key_name", read: labelOf },
  ],
  account: [
    { name: "account_id", read: idOf },
    { name: "account_name", read: labelOf },
  ],
};

/**
 * Downloads loaded usage as a CSV file: a row for each interval, or for each group and each interval in which it has requests. It makes no
 * request.
 *
 * @param scope what all of the usage is of, such as one model. Each becomes a column.
 */
export function downloadUsage<By extends Grouping>(
  answer: UsageAnswer<By>,
  scope: Readonly<Record<string, string>>,
): void {
  const { period, by } = answer;
  const columns: readonly CsvColumn<Row>[] = [
    { name: "start", read: ({ start }) => start },
    { name: "end", read: ({ end }) => end },
    { name: "time_zone", read: () => period.span.timeZone },
    ...Object.entries(scope).map(([name, value]) => ({ name, read: () => value })),
    ...GROUPS[by],
    ...FIGURES,
  ];
  const rows = rowsOf(answer);
  const { from, to } = daysIn(period);
  downloadCsv(`usage${by === "none" ? "" : `-by-${by}`}-${from}-to-${to}`, columns, rows);
  toast(`${formatCounted(rows.length, "row")} exported`);
}

/** In the order of time, and within an interval in the order of the table. */
function rowsOf<By extends Grouping>({ rows, period, by }: UsageAnswer<By>): readonly Row[] {
  const groups = groupsOf(rows, period.starts);
  const isGrouped = by !== "none";
  const series = isGrouped
    ? groups.map((group) => ({ group, intervals: group.intervals }))
    : [{ group: ALL, intervals: totalsOf(groups, period.starts.length) }];
  return period.starts.flatMap((start, index) =>
    series.flatMap(({ group, intervals }) => {
      const totals = intervals[index];
      if (totals === undefined || (isGrouped && totals.requests === 0)) return [];
      return [{ start, end: endOf(period, index), group, totals }];
    }),
  );
}

const ALL: GroupName = { id: "all", label: "All requests" };

function endOf({ starts, span }: Period, index: number): Date {
  return starts[index + 1] ?? span.to;
}
