import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { client } from "../../api/client.ts";
import type { ServiceUsageRow } from "../../api/types.ts";
import { PageHead } from "../../components/PageHead.tsx";
import type { GroupName } from "../usage/groups.ts";
import type { ServiceUsageSearch } from "../usage/search.ts";
import { UsageSection } from "../usage/UsageSection.tsx";
import type { UsageSource } from "../usage/use-usage.ts";

type By = ServiceUsageSearch["by"];

const GROUPINGS: readonly { readonly value: By; readonly label: string }[] = [
  { value: "none", label: "Total" },
  { value: "model", label: "By model" },
  { value: "account", label: "By account" },
];

const SOURCE: UsageSource<By> = {
  name: "service",
  ask: async (span, groupBy) => {
    const { rows } = await client.operator.usage.query({ ...span, groupBy });
    return rows.map((row) => ({ ...row, group: groupOf(row) }));
  },
  askTotal: async (span) => (await client.operator.usage.query({ ...span, groupBy: "none" })).total,
};

/** What all accounts have used, over time. */
export function ServiceUsage() {
  const { range, by } = useSearch({ from: "/shell/operator/operator/usage" });
  const navigate = useNavigate({ from: "/operator/usage" });
  return (
    <>
      <PageHead title="Usage" />
      <UsageSection
        title="All accounts"
        source={SOURCE}
        range={range}
        by={by}
        groupings={GROUPINGS}
        onChange={(change) =>
          void navigate({ search: (known) => ({ ...known, ...change }), replace: true, resetScroll: false })
        }
        nameOf={(group, answer) => <GroupLink group={group} by={answer.by} />}
      />
    </>
  );
}

function groupOf({ model, account, isOther }: ServiceUsageRow): GroupName {
  if (isOther) return { id: "rest", label: "all others", isOther };
  if (account !== null) return { id: account.id, label: account.name };
  if (model !== null) return { id: model, label: model === "" ? "no model" : model };
  return { id: "all", label: "All requests" };
}

function GroupLink({ group: { id, label, isOther }, by }: { readonly group: GroupName; readonly by: By }) {
  if (by !== "account" || isOther === true) return label;
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId: id }}>
      {label}
    </Link>
  );
}
