import { SECURITY_EVENT_KINDS } from "../../../../../sdk/src/contract/security-event-kinds.ts";
import type { SecurityEvent } from "../../../api/types.ts";

type Kind = SecurityEvent["kind"];

interface Words {
  /** What happened. */
  readonly title: string;
  /** What it means. */
  readonly more: string;
}

/** The texts for each kind of event. */
export const SECURITY_LABELS: Readonly<Record<Kind, Words>> = {
  sign_in_failed: { title: "Sign-in failed", more: "Wrong password or unknown e-mail address." },
  sign_in_limited: { title: "Sign-in limited", more: "Too many attempts." },
  operator_signed_in: { title: "Operator signed in", more: "Signed in to the dashboard with a password." },
  unknown_key: { title: "Unknown key", more: "No such key exists." },
  revoked_key: { title: "Revoked key used", more: "The key is still in use somewhere." },
  account_suspended: { title: "Suspended account used", more: "The account is suspended." },
  ip_blocked: {
    title: "Blocked IP address",
    more: "A key was used from an address outside the account's IP rules.",
  },
  management_token_refused: {
    title: "Management token refused",
    more: "Unknown, revoked or expired.",
  },
  upstream_credential_refused: {
    title: "Upstream rejected the service's credential",
    more: "Renew the credential to serve its models again.",
  },
};

/** The choices of the filter by kind. */
export const SECURITY_KINDS: readonly { readonly value: Kind; readonly label: string }[] =
  SECURITY_EVENT_KINDS.map((value) => ({ value, label: SECURITY_LABELS[value].title }));
