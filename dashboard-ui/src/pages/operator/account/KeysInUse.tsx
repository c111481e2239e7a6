import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { formatCount, formatUsdRoughly } from "../../../components/format.ts";
import { Loaded } from "../../../components/Loaded.tsx";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import { groupsOf, type UsageGroup } from "../../usage/groups.ts";
import { filterOfGroup, periodSearch } from "../../usage/log-filter.ts";
import type { UsageAnswer } from "../../usage/queries.ts";

interface KeysInUseProps {
  readonly id: string;
  /** The usage of the account by key. */
  readonly query: UseQueryResult<UsageAnswer<"key" | "model" | "none">, unknown>;
}

/** The number of keys that are shown: those with the most requests. */
const MAX_KEYS = 5;

/** The account's keys that had requests lately. */
export function KeysInUse({ id, query }: KeysInUseProps) {
  return (
    <section className={panelStyles.panel} aria-labelledby="keys-in-use">
      <div className={panelStyles.panelHead}>
        <h2 id="keys-in-use">Keys in use</h2>
        <Link to="." search={{ tab: "keys" }}>
          All keys
        </Link>
      </div>
      <Loaded query={query} what="keys">
        {({ rows, period }) => {
          const groups = groupsOf(rows, period.starts).filter(({ total }) => total.requests > 0);
          if (groups.length === 0)
            return <p className={textStyles.quiet}>No key was used in {period.words}.</p>;
          return (
            <DataTable
              caption={`Keys in use, ${period.words}`}
              columns={[nameColumn(id, periodSearch(period.span)), ...FIGURES]}
              rows={groups.slice(0, MAX_KEYS)}
              rowKey={({ id: key }) => key}
            />
          );
        }}
      </Loaded>
    </section>
  );
}

function nameColumn(accountId: string, time: ReturnType<typeof periodSearch>): Column<UsageGroup> {
  return {
    label: "Key",
    kind: "name",
    cell: (group) => {
      const filter = filterOfGroup(group, "key");
      if (filter === null) return group.label;
      return (
        <Link to="/operator/log" search={{ accountId, ...filter, ...time }}>
          {group.label}
        </Link>
      );
    },
  };
}

const FIGURES: readonly Column<UsageGroup>[] = [
  { label: "Requests", kind: "number", cell: ({ total }) => formatCount(total.requests) },
  { label: "Errors", kind: "number", cell: ({ total }) => formatCount(total.errors) },
  { label: "Cost", kind: "number", cell: ({ total }) => formatUsdRoughly(total.costNanoUsd) },
];
