import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { PageHead } from "../../components/PageHead.tsx";
import type { GroupName } from "../usage/groups.ts";
import { SERVICE_PERFORMANCE } from "../usage/performance-source.ts";
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
  const { range, by } = useSearch({ from: "/shell/operator/operator/usage" });
  const navigate = useNavigate({ from: "/operator/usage" });
  return (
    <>
      <PageHead title="Usage" />
      <UsageSection
        title="All accounts"
        source={SERVICE_USAGE}
        performance={SERVICE_PERFORMANCE}
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

function GroupLink({ group: { id, label, isOther }, by }: { readonly group: GroupName; readonly by: By }) {
  if (by !== "account" || isOther === true) return label;
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId: id }}>
      {label}
    </Link>
  );
}
