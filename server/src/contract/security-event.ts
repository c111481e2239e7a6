import type { SecurityEventKind } from "../../../sdk/src/contract/security-words.ts";
import type { AccountId } from "./account.ts";

export type { SecurityEventKind };

/** Of events that were counted together: a UUIDv7. */
export type SecurityEventId = string & { readonly __id: "security-event" };

/** From where somebody came; `null` when that could not be told. */
interface WithSourceIp {
  readonly sourceIp: string | null;
}

/**
 * What somebody did at a door, with all that may be written down of it: of a key that is nobody's and of a management token
 * nothing.
 */
export type SecurityEvent =
  | (WithSourceIp & {
      readonly kind: "sign_in_failed" | "sign_in_limited" | "operator_signed_in";
      /** As it was typed, in lower case. It is written down only if it is a user's: people type all sorts of things. */
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

/** Who is told of them. */
export interface SecurityEvents {
  /** Counts it in memory: costs next to nothing, never waits and never fails. */
  note(event: SecurityEvent): void;
}
