import type { SecurityEvent } from "../contract/security-event.ts";
import { type ErrorCode, Failure } from "../errors/failure.ts";
import { RefusedCaller } from "./access.ts";

const KINDS: { readonly [Code in ErrorCode]?: "revoked_key" | "account_suspended" | "ip_blocked" } = {
  revoked_api_key: "revoked_key",
  account_suspended: "account_suspended",
  ip_blocked: "ip_blocked",
};

/** What is known of a request that was refused. */
interface RefusedRequest {
  /** A request without a credential is not an attempt with a key. */
  readonly hasCredential: boolean;
  readonly sourceIp: string | null;
}

/**
 * The security event for a request that was refused because of its key.
 *
 * @param thrown the refusal.
 * @returns `null` for a refusal that is not about the key: a limit, an invalid request, a fault.
 */
export function eventOfRefusedKey(
  thrown: unknown,
  { hasCredential, sourceIp }: RefusedRequest,
): SecurityEvent | null {
  if (thrown instanceof RefusedCaller) {
    const kind = KINDS[thrown.failure.code];
    const { account, key } = thrown.snapshot;
    return kind === undefined ? null : { kind, accountId: account.id, keyId: key.keyId, sourceIp };
  }
  const isUnknown = thrown instanceof Failure && thrown.code === "invalid_api_key";
  return isUnknown && hasCredential ? { kind: "unknown_key", sourceIp } : null;
}
