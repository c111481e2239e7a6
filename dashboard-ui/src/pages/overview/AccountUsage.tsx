import { Link, useNavigate } from "@tanstack/react-router";
import { UNKNOWN_MODEL } from "../../../../sdk/src/contract/audit-words.ts";
import type { AuditSearch } from "../audit/search.ts";
import type { GroupName } from "../usage/groups.ts";
import { accountPerformance } from "../usage/performance-source.ts";
import type { Span } from "../usage/period.ts";
import type { UsageSearch } from "../usage/search.ts";
import { accountUsage, type UsageFilter } from "../usage/sources.ts";
import type { UsagePick } from "../usage/UsageCharts.tsx";
import { UsageSection } from "../usage/UsageSection.tsx";

type By = UsageSearch["by"];

const GROUPINGS: readonly { readonly value: By; readonly label: string }[] = [
  { value: "none", label: "Total" },
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
];

interface AccountUsageProps {
  /** The state in the page's address. */
  readonly search: UsageSearch;
  /** What the page is about; without it, everything of the account. */
  readonly filter?: UsageFilter;
}

/** The account's usage over time, of a key or a model if the page is about one. */
export function AccountUsage({ search: { range, by }, filter = ALL }: AccountUsageProps) {
  const navigate = useNavigate();
  // All of a key's usage is in one group by key.
  const groupings = GROUPINGS.filter(({ value }) => value === "none" || filter[value] === undefined);
  return (
    <UsageSection
      title="Usage"
      source={accountUsage(filter)}
      performance={accountPerformance(filter)}
      range={range}
      by={groupings.some(({ value }) => value === by) ? by : "none"}
      groupings={groupings}
      onChange={(change) =>
        void navigate({
          to: ".",
          search: (known) => ({ ...known, ...change }),
          replace: true,
          resetScroll: false,
        })
      }
      onPick={(pick, grouping) =>
        void navigate({ to: "/audit", search: { ...searchOf(pick, grouping), ...filter } })
      }
      nameOf={(group, answer) => (
        <GroupLink group={group} by={answer.by} span={answer.period.span} filter={filter} />
      )}
    />
  );
}

const ALL: UsageFilter = {};

interface GroupLinkProps {
  readonly group: GroupName;
  readonly by: By;
  readonly span: Span;
  /** A filter of the whole page. */
  readonly filter: UsageFilter;
}

/** Entries contain the requested names, so this group is found by its error code. */
const UNKNOWN_MODELS = { error_code: "model_not_found" };

/** The log's filter for the entries of a group; `null`: it has none for requests without a model, or for the rest. */
function filterOf({ id, isOther }: GroupName, by: By) {
  if (id === "" || isOther === true || by === "none") return null;
  if (by === "key") return { key: id };
  return id === UNKNOWN_MODEL ? UNKNOWN_MODELS : { model: id };
}

/** The log's filter for a part of a chart. */
function searchOf({ group, from, to, isOfErrors }: UsagePick, by: By): AuditSearch {
  const filter = group === null ? null : filterOf(group, by);
  const errors = isOfErrors ? { status: "error" } : null;
  return { ...filter, ...errors, from: from.toISOString(), to: to.toISOString() };
}

/** A link to the entries of a group. */
function GroupLink({ group, by, span, filter: own }: GroupLinkProps) {
  const filter = filterOf(group, by);
  if (filter === null) return group.label;
  return (
    <Link to="/audit" search={{ ...own, ...filter, from: span.from.toISOString() }}>
      {group.label}
    </Link>
  );
}
