import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { GroupName } from "../usage/groups.ts";
import { filterOfGroup, periodSearch, searchOf } from "../usage/log-filter.ts";
import { accountPerformance } from "../usage/performance-source.ts";
import type { Span } from "../usage/period.ts";
import type { UsageSearch } from "../usage/search.ts";
import { ACCOUNT_USAGE } from "../usage/sources.ts";
import { UsageSection } from "../usage/UsageSection.tsx";

type By = UsageSearch["by"];

const GROUPINGS: readonly { readonly value: By; readonly label: string }[] = [
  { value: "none", label: "Total" },
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
];

const ACCOUNT_PERFORMANCE = accountPerformance();

/** The account's usage over time. */
export function AccountUsage() {
  const { by, ...choice } = useSearch({ from: "/shell/account/" });
  const navigate = useNavigate({ from: "/" });
  return (
    <UsageSection
      title="Usage"
      source={ACCOUNT_USAGE}
      performance={ACCOUNT_PERFORMANCE}
      choice={choice}
      by={by}
      groupings={GROUPINGS}
      onChange={(change) =>
        void navigate({ search: (known) => ({ ...known, ...change }), replace: true, resetScroll: false })
      }
      onPick={(pick, by) => void navigate({ to: "/audit", search: searchOf(pick, by) })}
      nameOf={(group, answer) => <GroupLink group={group} by={answer.by} span={answer.period.span} />}
    />
  );
}

interface GroupLinkProps {
  readonly group: GroupName;
  readonly by: By;
  readonly span: Span;
  /** A filter of the whole page. */
  readonly filter?: { readonly key?: string; readonly model?: string };
}

/** A link to the entries of a group. */
export function GroupLink({ group, by, span, filter: own }: GroupLinkProps) {
  const filter = filterOfGroup(group, by);
  if (filter === null) return group.label;
  return (
    <Link to="/audit" search={{ ...own, ...filter, ...periodSearch(span) }}>
      {group.label}
    </Link>
  );
}
