import type { SecurityEvent } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { RefusedCaller } from "./access.ts";

/**
 * The security event for a request that was refused because of its key.
 *
 * @param thrown the refusal.
 * @param showedKey whether the request had an `Authorization` header. A request without one is not an attempt with a key.
 * @returns `null` for a refusal that is not about the key: a limit, an invalid request, a fault.
 */
export function eventOfRefusedKey(
  thrown: unknown,
  showedKey: boolean,
  sourceIp: string | null,
): SecurityEvent | null {
  if (thrown instanceof RefusedCaller) {
    const kind = kindOf(thrown.failure);
    const { account, key } = thrown.snapshot;
    return kind === null ? null : { kind, accountId: account.id, keyId: key.keyId, sourceIp };
  }
  const isUnknown = thrown instanceof Failure && thrown.code === "invalid_api_key";
  return isUnknown && showedKey ? { kind: "unknown_key", sourceIp } : null;
}

function kindOf({ code }: Failure): "revoked_key" | "account_suspended" | "ip_blocked" | null {
  switch (code) {
    case "revoked_api_key":
      return "revoked_key";
    case "account_suspended":
    case "ip_blocked":
      return code;
    default:
      return null;
  }
}
