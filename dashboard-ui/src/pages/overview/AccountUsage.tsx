import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { UNKNOWN_MODEL } from "../../../../sdk/src/contract/audit-words.ts";
import type { GroupName } from "../usage/groups.ts";
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

/** The account's usage over time. */
export function AccountUsage() {
  const { range, by } = useSearch({ from: "/shell/account/" });
  const navigate = useNavigate({ from: "/" });
  return (
    <UsageSection
      title="Usage"
      source={ACCOUNT_USAGE}
      range={range}
      by={by}
      groupings={GROUPINGS}
      onChange={(change) =>
        void navigate({ search: (known) => ({ ...known, ...change }), replace: true, resetScroll: false })
      }
      nameOf={(group, answer) => <GroupLink group={group} by={answer.by} span={answer.period.span} />}
    />
  );
}

interface GroupLinkProps {
  readonly group: GroupName;
  readonly by: By;
  readonly span: Span;
}

/** Entries contain the requested names, so this group is found by its error code. */
const UNKNOWN_MODELS = { error_code: "model_not_found" };

/** A link to the entries of a group. */
function GroupLink({ group: { id, label, isOther }, by, span }: GroupLinkProps) {
  // The log has no filter for entries without a model, or for the rest.
  if (id === "" || isOther === true) return label;
  const filter = by === "key" ? { key: id } : id === UNKNOWN_MODEL ? UNKNOWN_MODELS : { model: id };
  return (
    <Link to="/audit" search={{ ...filter, from: span.from.toISOString() }}>
      {label}
    </Link>
  );
}
