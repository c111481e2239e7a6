import type { OperatorAction } from "../../../api/types.ts";
import { isNamed } from "../../../components/action-labels.ts";
import { formatCount, formatExactTime, formatUsd } from "../../../components/format.ts";

/** One changed property, as text. */
export interface Difference {
  readonly name: string;
  /** `null` if the object did not exist before. */
  readonly before: string | null;
  /** `null` if the object no longer exists. */
  readonly after: string | null;
}

/** The labels of properties. Properties with `null` mean nothing to a person and are left out. */
const NAMES: Readonly<Record<string, string | null>> = {
  id: null,
  replaces: null,
  name: "Name",
  email: "E-mail",
  plan: "Plan",
  state: "State",
  "suspension.at": "Suspended since",
  "suspension.reason": "Suspension reason",
  "ipRules.mode": "IP rules",
  "limits.requestsPerMinute": "Requests per minute",
  "limits.tokensPerMinute": "Tokens per minute",
  "limits.concurrentRequests": "Concurrent requests",
  amountNanoUsd: "Amount",
  balanceNanoUsd: "Balance",
  keyId: "Key ID",
  tokenId: "Token",
  expiresAt: "Expires",
  revokedAt: "Revoked",
};
const NETWORKS = "ipRules.networks";
const ORDER = [...Object.keys(NAMES), NETWORKS];
/** Properties that the action's label already names. */
const SAID = ["name", "keyId", "tokenId", "state"];
/** The maximum number of networks to list. */
const MAX_NAMED = 10;

/** The properties that a change modified, with their values before and after. */
export function differencesOf(action: OperatorAction): readonly Difference[] {
  const { at, before, after, reason } = action;
  const was = partsOf(before);
  const is = partsOf(after);
  const paths = [...new Set([...was.keys(), ...is.keys()])];
  return paths
    .sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))
    .flatMap((path) => {
      const [old, next] = [was.get(path), is.get(path)];
      if (path === NETWORKS) return networkDifferences(listOf(old), listOf(next));
      const name = path in NAMES ? NAMES[path] : path;
      if (name == null || (isNamed(action) && SAID.includes(path))) return [];
      // The reason and time of a suspension are those of the change itself.
      if (next === reason || next === at.toISOString()) return [];
      if (JSON.stringify(old) === JSON.stringify(next)) return [];
      return [{ name, before: wordOf(path, old), after: wordOf(path, next) }];
    });
}

/** The last characters of the change's key or management token. */
export function shortIdOf({ after }: OperatorAction): string | null {
  const id = after?.keyId ?? after?.tokenId;
  return typeof id === "string" ? id : null;
}

/** The values of a record by path: `limits.tokensPerMinute`. */
function partsOf(state: unknown, path = ""): ReadonlyMap<string, unknown> {
  if (typeof state !== "object" || state === null || Array.isArray(state)) {
    // A missing object has no properties.
    return state === undefined || (state === null && !path.includes("."))
      ? new Map()
      : new Map([[path, state]]);
  }
  const parts = Object.entries(state).flatMap(([name, value]) => [
    ...partsOf(value, path === "" ? name : `${path}.${name}`),
  ]);
  return new Map(parts);
}

function wordOf(path: string, value: unknown): string | null {
  if (value === undefined) return null;
  if (value === null) return path.startsWith("limits.") ? "plan default" : "none";
  if (typeof value === "string") {
    if (path.endsWith("NanoUsd") && /^-?\d+$/.test(value)) return formatUsd(BigInt(value));
    if (/(?:\.at|At)$/.test(path) && !Number.isNaN(Date.parse(value)))
      return formatExactTime(new Date(value));
    if (path === "ipRules.mode") return value === "report" ? "report only" : "enforced";
    return value;
  }
  return typeof value === "number" ? formatCount(value) : JSON.stringify(value);
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function networkDifferences(before: readonly string[], after: readonly string[]): readonly Difference[] {
  const added = after.filter((network) => !before.includes(network));
  const removed = before.filter((network) => !after.includes(network));
  return [
    { name: "Networks added", networks: added },
    { name: "Networks removed", networks: removed },
  ].flatMap(({ name, networks }) =>
    networks.length === 0 ? [] : [{ name, before: null, after: namedOf(networks) }],
  );
}

function namedOf(networks: readonly string[]): string {
  const rest = networks.length - MAX_NAMED;
  const named = networks.slice(0, MAX_NAMED).join(", ");
  return rest > 0 ? `${named} and ${rest} more` : named;
}
