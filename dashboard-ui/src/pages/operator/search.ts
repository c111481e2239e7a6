export interface AccountsSearch {
  readonly search?: string | undefined;
  readonly state?: "active" | "suspended" | undefined;
  readonly plan?: "free" | "pro" | "enterprise" | undefined;
}

export function readAccountsSearch({ search, state, plan }: Record<string, unknown>): AccountsSearch {
  return {
    search: textOf(search),
    state: state === "active" || state === "suspended" ? state : undefined,
    plan: plan === "free" || plan === "pro" || plan === "enterprise" ? plan : undefined,
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

export interface CatalogSearch {
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
