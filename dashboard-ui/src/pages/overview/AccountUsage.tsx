import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { UNKNOWN_MODEL } from "../../../../sdk/src/contract/audit-words.ts";
import type { AuditSearch } from "../audit/search.ts";
import type { GroupName } from "../usage/groups.ts";
import { accountPerformance } from "../usage/performance-source.ts";
import type { Span } from "../usage/period.ts";
import type { UsageSearch } from "../usage/search.ts";
import { ACCOUNT_USAGE } from "../usage/sources.ts";
import type { UsagePick } from "../usage/UsageCharts.tsx";
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
  const { range, by } = useSearch({ from: "/shell/account/" });
  const navigate = useNavigate({ from: "/" });
  return (
    <UsageSection
      title="Usage"
      source={ACCOUNT_USAGE}
      performance={ACCOUNT_PERFORMANCE}
      range={range}
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

/** Entries contain the requested names, so this group is found by its error code. */
const UNKNOWN_MODELS = { error_code: "model_not_found" };

/** The log's filter for the entries of a group; `null`: it has none for requests without a model, or for the rest. */
function filterOf({ id, isOther }: GroupName, by: By) {
  if (id === "" || isOther === true || by === "none") return null;
  if (by === "key") return { key: id };
  return id === UNKNOWN_MODEL ? UNKNOWN_MODELS : { model: id };
}

/** The log's filter for a part of a chart. */
export function searchOf({ group, from, to, isOfErrors }: UsagePick, by: By): AuditSearch {
  const filter = group === null ? null : filterOf(group, by);
  const errors = isOfErrors ? { status: "error" } : null;
  return { ...filter, ...errors, from: from.toISOString(), to: to.toISOString() };
}

/** A link to the entries of a group. */
export function GroupLink({ group, by, span, filter: own }: GroupLinkProps) {
  const filter = filterOf(group, by);
  if (filter === null) return group.label;
  return (
    <Link to="/audit" search={{ ...own, ...filter, from: span.from.toISOString() }}>
      {group.label}
    </Link>
  );
}
