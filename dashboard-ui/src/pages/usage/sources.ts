import { client } from "../../api/client.ts";
import type { ServiceUsageRow, UsageRow } from "../../api/types.ts";
import type { GroupName } from "./groups.ts";
import type { UsageSource } from "./queries.ts";
import type { ServiceUsageSearch, UsageSearch } from "./search.ts";

/** The requests that are counted; omitted: all. */
export interface UsageFilter {
  readonly key?: string;
  readonly model?: string;
}

/** Usage of the signed-in account, or of one key or model. */
export function accountUsage(filter: UsageFilter = {}): UsageSource<UsageSearch["by"]> {
  return {
    name: `account ${JSON.stringify(filter)}`,
    scope: { ...filter },
    rows: async (span, groupBy) => {
      const { rows } = await client.usage.summary.query({ ...span, ...filter, groupBy });
      return rows.map((row) => ({ ...row, group: accountGroup(row) }));
    },
    total: async (span) => (await client.usage.summary.query({ ...span, ...filter, groupBy: "none" })).total,
  };
}

export const ACCOUNT_USAGE = accountUsage();

/** Usage of one account, for operators. */
export function operatedUsage(id: string): UsageSource<UsageSearch["by"]> {
  return {
    name: `account ${id}`,
    scope: { account_id: id },
    rows: async (span, groupBy) => {
      const { rows } = await client.operator.accounts.usage.query({ id, ...span, groupBy });
      return rows.map((row) => ({ ...row, group: accountGroup(row) }));
    },
    total: async (span) =>
      (await client.operator.accounts.usage.query({ id, ...span, groupBy: "none" })).total,
  };
}

/** Usage of all accounts. */
export const SERVICE_USAGE: UsageSource<ServiceUsageSearch["by"]> = {
  name: "service",
  scope: {},
  rows: async (span, groupBy) => {
    const { rows } = await client.operator.usage.query({ ...span, groupBy });
    return rows.map((row) => ({ ...row, group: serviceGroup(row) }));
  },
  total: async (span) => (await client.operator.usage.query({ ...span, groupBy: "none" })).total,
};

function accountGroup({ key, ...row }: UsageRow): GroupName {
  // Another key may take the name of a revoked one, so the key ID is shown too.
  if (!row.isOther && key !== null) return { id: key.id, label: `${key.name} …${key.keyId}` };
  return modelGroup(row);
}

function serviceGroup({ account, ...row }: ServiceUsageRow): GroupName {
  return !row.isOther && account !== null ? { id: account.id, label: account.name } : modelGroup(row);
}

function modelGroup({ model, isOther }: Pick<UsageRow, "model" | "isOther">): GroupName {
  if (isOther) return { id: "rest", label: "All others", isOther };
  if (model !== null) return { id: model, label: model === "" ? "No model" : model };
  return { id: "all", label: "All requests" };
}
