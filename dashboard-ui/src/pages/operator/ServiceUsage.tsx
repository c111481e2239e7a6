import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { PageHead } from "../../components/PageHead.tsx";
import type { GroupName } from "../usage/groups.ts";
import { filterOfGroup, periodSearch, searchOf } from "../usage/log-filter.ts";
import { SERVICE_PERFORMANCE } from "../usage/performance-source.ts";
import type { Span } from "../usage/period.ts";
import type { ServiceUsageSearch } from "../usage/search.ts";
import { SERVICE_USAGE } from "../usage/sources.ts";
import { UsageSection } from "../usage/UsageSection.tsx";

type By = ServiceUsageSearch["by"];

const GROUPINGS: readonly { readonly value: By; readonly label: string }[] = [
  { value: "none", label: "Total" },
  { value: "model", label: "By model" },
  { value: "account", label: "By account" },
];

/** The usage of all accounts over time. */
export function ServiceUsage() {
  const { by, ...choice } = useSearch({ from: "/shell/operator/operator/usage" });
  const navigate = useNavigate({ from: "/operator/usage" });
  return (
    <>
      <PageHead title="Usage" />
      <UsageSection
        title="All accounts"
        source={SERVICE_USAGE}
        performance={SERVICE_PERFORMANCE}
        choice={choice}
        by={by}
        groupings={GROUPINGS}
        onChange={(change) =>
          void navigate({ search: (known) => ({ ...known, ...change }), replace: true, resetScroll: false })
        }
        onPick={(pick, grouping) => void navigate({ to: "/operator/log", search: searchOf(pick, grouping) })}
        nameOf={(group, answer) => <GroupLink group={group} by={answer.by} span={answer.period.span} />}
      />
    </>
  );
}

interface GroupLinkProps {
  readonly group: GroupName;
  readonly by: By;
  readonly span: Span;
}

/** A link to an account, or to the entries of a model. */
function GroupLink({ group, by, span }: GroupLinkProps) {
  const filter = filterOfGroup(group, by);
  if (filter === null) return group.label;
  if (by === "account") {
    return (
      <Link to="/operator/accounts/$accountId" params={{ accountId: group.id }}>
        {group.label}
      </Link>
    );
  }
  return (
    <Link to="/operator/log" search={{ ...filter, ...periodSearch(span) }}>
      {group.label}
    </Link>
  );
}
