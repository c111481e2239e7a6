import type { SecurityEventKind } from "../../../sdk/src/contract/security-event-kinds.ts";
import type { AccountId } from "./account.ts";

export type { SecurityEventKind };

/** The UUIDv7 of a group of events. */
export type SecurityEventId = string & { readonly __id: "security-event" };

/** The client's address; `null` when it is unknown. */
interface WithSourceIp {
  readonly sourceIp: string | null;
}

/**
 * A security event with everything that may be recorded of it. Nothing is recorded of an unknown key or a management token.
 */
export type SecurityEvent =
  | (WithSourceIp & {
      readonly kind: "sign_in_failed" | "sign_in_limited" | "operator_signed_in";
      /** The input in lower case. It is stored only if it is the address of a user, because people type passwords here, too. */
      readonly email: string;
    })
  | (WithSourceIp & { readonly kind: "unknown_key" | "management_token_refused" })
  | (WithSourceIp & {
      readonly kind: "revoked_key" | "account_suspended" | "ip_blocked";
      readonly accountId: AccountId;
      /** `null`: it was a management token. */
      readonly keyId: string | null;
    })
  | { readonly kind: "upstream_credential_refused"; readonly upstream: string };

/** Receives security events. */
export interface SecurityEvents {
  /** Counts the event in memory. It never waits and never fails. */
  note(event: SecurityEvent): void;
}
