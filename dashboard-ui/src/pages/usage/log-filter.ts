import { UNKNOWN_MODEL } from "../../../../sdk/src/contract/audit-enums.ts";
import type { AuditSearch } from "../audit/search.ts";
import type { GroupName } from "./groups.ts";
import type { Span } from "./period.ts";
import type { UsagePick } from "./UsageCharts.tsx";

export type Grouping = "none" | "model" | "key" | "account";

/** Entries contain the requested names, so this group is found by its error code. */
const UNKNOWN_MODELS: AuditSearch = { error_code: "model_not_found" };

/** The log's filter for the entries of a group; `null`: it has none for requests without a model, or for the rest. */
export function filterOfGroup({ id, isOther }: GroupName, by: Grouping): AuditSearch | null {
  if (id === "" || isOther === true || by === "none") return null;
  if (by === "key") return { key: id };
  if (by === "account") return { accountId: id };
  return id === UNKNOWN_MODEL ? UNKNOWN_MODELS : { model: id };
}

/** The log's filter for a period. A period that is not over has no end, so that the log shows new requests, too. */
export function periodSearch({ from, to }: Span): AuditSearch {
  return { from: from.toISOString(), ...(to.getTime() > Date.now() ? {} : { to: to.toISOString() }) };
}

/** The log's filter for a part of a chart. */
export function searchOf({ group, from, to, isOfErrors }: UsagePick, by: Grouping): AuditSearch {
  const filter = group === null ? null : filterOfGroup(group, by);
  const errors = isOfErrors ? { status: "error" } : null;
  return { ...filter, ...errors, from: from.toISOString(), to: to.toISOString() };
}
