import { queryOptions } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { client } from "../../api/client.ts";
import type { AuditEntry, LogSummary } from "../../api/types.ts";
import type { PageLink } from "../../components/pages.ts";
import type { AuditFilters } from "./filters.ts";

interface Page {
  readonly entries: readonly AuditEntry[];
  readonly nextCursor: string | null;
}

/** A log that the pages and their parts show: that of the signed-in account, or that of all accounts. */
export interface LogSource {
  /** Part of the cache keys. */
  readonly name: string;
  readonly list: (
    input: AuditFilters & { readonly limit: number; readonly cursor?: string },
    signal: AbortSignal,
  ) => Promise<Page>;
  readonly summary: (filters: AuditFilters) => Promise<LogSummary>;
  readonly entry: (requestId: string) => Promise<AuditEntry>;
  /** What a log without entries says. */
  readonly emptyText: string;
  /** The page on which its reader learns to make the first entry. */
  readonly beginning?: Pick<PageLink, "to" | "label">;
}

const OWN_LOG: LogSource = {
  name: "own",
  list: (input, signal) => client.audit.list.query(input, { signal }),
  summary: (filters) => client.audit.summary.query(filters),
  entry: (requestId) => client.audit.get.query({ requestId }),
  emptyText: "Requests made with this account's keys appear here.",
  beginning: { to: "/connect", label: "Send a request" },
};

const Source = createContext<LogSource>(OWN_LOG);

/** Makes another log than the account's own that of the parts within. */
export const LogSourceProvider = Source.Provider;

export function useLogSource(): LogSource {
  return useContext(Source);
}

/** Totals, histogram and counted values of the entries that match. */
export function summaryQuery({ name, summary }: LogSource, filters: AuditFilters) {
  return queryOptions({ queryKey: ["log", name, "summary", filters], queryFn: () => summary(filters) });
}

/** The entry of one request. */
export function entryQuery({ name, entry }: LogSource, requestId: string) {
  return queryOptions({ queryKey: ["log", name, "entry", requestId], queryFn: () => entry(requestId) });
}
