import { SECURITY_EVENT_KINDS } from "../../../../../sdk/src/contract/security-words.ts";
import type { SecurityEvent } from "../../../api/types.ts";

type Kind = SecurityEvent["kind"];

interface Words {
  /** What happened. */
  readonly title: string;
  /** What it means. */
  readonly more: string;
}

/** What the kinds of events say to a person. */
export const SECURITY_WORDS: Readonly<Record<Kind, Words>> = {
  sign_in_failed: { title: "Sign-in failed", more: "E-mail address and password did not match." },
  sign_in_limited: { title: "Sign-in limited", more: "Refused after too many attempts." },
  operator_signed_in: { title: "Operator signed in", more: "At the dashboard, with their password." },
  unknown_key: { title: "Unknown key shown", more: "It is nobody's. The request was refused." },
  revoked_key: { title: "Revoked key used", more: "Somebody still has it. The request was refused." },
  account_suspended: { title: "Suspended account used", more: "The request was refused." },
  ip_blocked: { title: "Blocked IP address", more: "A key was used from outside the account's IP rules." },
  management_token_refused: {
    title: "Management token refused",
    more: "It is nobody's, revoked or expired.",
  },
  upstream_credential_refused: {
    title: "Upstream refused the service's credential",
    more: "Its models can't be served until the credential is renewed.",
  },
};

/** The kinds, as one chooses among them. */
export const SECURITY_KINDS: readonly { readonly value: Kind; readonly label: string }[] =
  SECURITY_EVENT_KINDS.map((value) => ({ value, label: SECURITY_WORDS[value].title }));
