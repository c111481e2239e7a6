/** What of the page stands in its address: the filters, in the words of the API. */
export interface AuditSearch {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly status?: string | undefined;
  readonly error_code?: string | undefined;
  readonly source?: string | undefined;
}

const NAMES = ["from", "to", "key", "model", "status", "error_code", "source"] as const;

/** Every name is there, whether it is given or not: what a validator leaves out, the router takes from the address as it stands. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  return Object.fromEntries(NAMES.map((name) => [name, textOf(search[name])]));
}

/** The router reads what looks like a number as one. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
