import type { OperatorAction } from "../../api/types.ts";
import { ACTION_LABELS } from "../../components/action-labels.ts";

export interface AccountsSearch {
  readonly search?: string | undefined;
  readonly state?: "active" | "suspended" | undefined;
  readonly plan?: "free" | "pro" | "enterprise" | undefined;
  /** Absent: by their creation. */
  readonly order?: AccountOrder | undefined;
  /** Whether the oldest or the lowest are first. Absent: the newest or the highest are. */
  readonly ascending?: true | undefined;
}

/** The figures that accounts can be sorted by. */
const ACCOUNT_ORDERS = ["balance", "cost", "requests"] as const;
export type AccountOrder = (typeof ACCOUNT_ORDERS)[number];

export function readAccountsSearch(read: Record<string, unknown>): AccountsSearch {
  const { search, state, plan, order, ascending } = read;
  return {
    search: textOf(search),
    state: state === "active" || state === "suspended" ? state : undefined,
    plan: plan === "free" || plan === "pro" || plan === "enterprise" ? plan : undefined,
    order: ACCOUNT_ORDERS.find((known) => known === order),
    ascending: ascending === true ? true : undefined,
  };
}

export interface SecuritySearch {
  readonly kind?: string | undefined;
  readonly accountId?: string | undefined;
  readonly source?: string | undefined;
}

export function readSecuritySearch({ kind, accountId, source }: Record<string, unknown>): SecuritySearch {
  return { kind: textOf(kind), accountId: textOf(accountId), source: textOf(source) };
}

export interface TrailSearch {
  readonly accountId?: string | undefined;
  readonly action?: OperatorAction["action"] | undefined;
  readonly author?: string | undefined;
  readonly source?: string | undefined;
  readonly search?: string | undefined;
}

export function readTrailSearch(search: Record<string, unknown>): TrailSearch {
  const action = textOf(search.action);
  return {
    accountId: textOf(search.accountId),
    action: action !== undefined && isAction(action) ? action : undefined,
    author: textOf(search.author),
    source: textOf(search.source),
    search: textOf(search.search),
  };
}

function isAction(text: string): text is OperatorAction["action"] {
  return Object.hasOwn(ACTION_LABELS, text);
}

interface UpstreamsSearch {
  /** The period of the charts. Absent: 24 hours. */
  readonly range?: "7d" | "30d" | undefined;
}

export function readUpstreamsSearch({ range }: Record<string, unknown>): UpstreamsSearch {
  return { range: range === "7d" || range === "30d" ? range : undefined };
}

interface CatalogSearch {
  readonly search?: string | undefined;
}

export function readCatalogSearch({ search }: Record<string, unknown>): CatalogSearch {
  return { search: textOf(search) };
}

/** The router parses texts that look like numbers as numbers. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
