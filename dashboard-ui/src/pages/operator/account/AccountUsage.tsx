import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { client } from "../../../api/client.ts";
import { filterOfGroup, periodSearch, searchOf } from "../../usage/log-filter.ts";
import { operatedUsage } from "../../usage/sources.ts";
import { UsageSection } from "../../usage/UsageSection.tsx";

const GROUPINGS = [
  { value: "none", label: "Total" },
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
] as const;

/** The account's usage over time. */
export function AccountUsage({ accountId }: { readonly accountId: string }) {
  const search = useSearch({ from: "/shell/operator/operator/accounts/$accountId" });
  const { range = "7d", by = "model", from, to, zone } = search;
  const navigate = useNavigate({ from: "/operator/accounts/$accountId" });
  const usage = useMemo(() => operatedUsage(accountId), [accountId]);
  return (
    <UsageSection
      title="Usage"
      source={usage}
      performance={{
        name: `account ${accountId}`,
        read: (span) => client.operator.accounts.performance.query({ id: accountId, ...span }),
      }}
      choice={{ range, from, to, zone }}
      by={by}
      groupings={GROUPINGS}
      onChange={(change) =>
        void navigate({ search: (known) => ({ ...known, ...change }), replace: true, resetScroll: false })
      }
      onPick={(pick, grouping) =>
        void navigate({ to: "/operator/log", search: { ...searchOf(pick, grouping), accountId } })
      }
      nameOf={(group, answer) => {
        const filter = filterOfGroup(group, answer.by);
        if (filter === null) return group.label;
        return (
          <Link to="/operator/log" search={{ ...filter, accountId, ...periodSearch(answer.period.span) }}>
            {group.label}
          </Link>
        );
      }}
    />
  );
}
