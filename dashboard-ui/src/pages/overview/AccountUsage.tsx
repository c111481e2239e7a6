import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { UNKNOWN_MODEL } from "../../../../sdk/src/contract/audit-words.ts";
import { client } from "../../api/client.ts";
import type { UsageRow } from "../../api/types.ts";
import type { GroupName } from "../usage/groups.ts";
import type { Span } from "../usage/period.ts";
import type { UsageSearch } from "../usage/search.ts";
import { UsageSection } from "../usage/UsageSection.tsx";
import type { UsageSource } from "../usage/use-usage.ts";

type By = UsageSearch["by"];

const GROUPINGS: readonly { readonly value: By; readonly label: string }[] = [
  { value: "none", label: "Total" },
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
];

const SOURCE: UsageSource<By> = {
  name: "account",
  ask: async (span, groupBy) => {
    const { rows } = await client.usage.summary.query({ ...span, groupBy });
    return rows.map((row) => ({ ...row, group: groupOf(row) }));
  },
  askTotal: async (span) => (await client.usage.summary.query({ ...span, groupBy: "none" })).total,
};

/** What the account's keys have used, over time. */
export function AccountUsage() {
  const { range, by } = useSearch({ from: "/shell/account/" });
  const navigate = useNavigate({ from: "/" });
  return (
    <UsageSection
      title="Usage"
      source={SOURCE}
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

function groupOf({ model, key, isOther }: UsageRow): GroupName {
  if (isOther) return { id: "rest", label: "all others", isOther };
  // A key that was revoked leaves its name to others.
  if (key !== null) return { id: key.id, label: `${key.name} …${key.keyId}` };
  if (model !== null) return { id: model, label: model === "" ? "no model" : model };
  return { id: "all", label: "All requests" };
}

interface GroupLinkProps {
  readonly group: GroupName;
  readonly by: By;
  readonly span: Span;
}

/** Entries have the names that were asked for. */
const UNKNOWN_MODELS = { error_code: "model_not_found" };

/** Leads to the entries that were counted. */
function GroupLink({ group: { id, label, isOther }, by, span }: GroupLinkProps) {
  // Entries without a model can't be asked for, nor those of all others.
  if (id === "" || isOther === true) return label;
  const filter = by === "key" ? { key: id } : id === UNKNOWN_MODEL ? UNKNOWN_MODELS : { model: id };
  return (
    <Link to="/audit" search={{ ...filter, from: span.from.toISOString() }}>
      {label}
    </Link>
  );
}
