import type { SecurityEvent } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { RefusedCaller } from "./access.ts";

/**
 * What there is to note of a request that was refused for the key that it came with.
 *
 * @param thrown what refused it.
 * @param showedKey whether anything was shown in a key's place. Who shows nothing has only found the address.
 * @returns `null` for what says nothing of a key: a limit, a mistake in the request, a fault.
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
