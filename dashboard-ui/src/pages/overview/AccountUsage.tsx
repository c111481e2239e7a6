import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { GroupName } from "../usage/groups.ts";
import { filterOfGroup, periodSearch, searchOf } from "../usage/log-filter.ts";
import { accountPerformance } from "../usage/performance-source.ts";
import type { Span } from "../usage/period.ts";
import type { UsageSearch } from "../usage/search.ts";
import { accountUsage, type UsageFilter } from "../usage/sources.ts";
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
  /** What stands below the usage. */
  readonly children?: ReactNode;
}

/** The account's usage over time, of a key or a model if the page is about one. */
export function AccountUsage({ search: { by, ...choice }, filter = ALL, children }: AccountUsageProps) {
  const navigate = useNavigate();
  // All of a key's usage is in one group by key.
  const groupings = GROUPINGS.filter(({ value }) => value === "none" || filter[value] === undefined);
  return (
    <UsageSection
      title="Usage"
      source={accountUsage(filter)}
      performance={accountPerformance(filter)}
      choice={choice}
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
    >
      {children}
    </UsageSection>
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

/** A link to the entries of a group. */
function GroupLink({ group, by, span, filter: own }: GroupLinkProps) {
  const filter = filterOfGroup(group, by);
  if (filter === null) return group.label;
  return (
    <Link to="/audit" search={{ ...own, ...filter, ...periodSearch(span) }}>
      {group.label}
    </Link>
  );
}
