/**
 * The kinds of security events.
 *
 * - `sign_in_failed`: wrong password or unknown e-mail address, at sign-in or when changing the password.
 * - `sign_in_limited`: an attempt beyond the limit, whether correct or not.
 * - `operator_signed_in`
 * - `unknown_key`: an unknown or malformed key was sent.
 * - `revoked_key`: a revoked key was used.
 * - `account_suspended`, `ip_blocked`: a key or management token was refused for this reason.
 * - `management_token_refused`: an unknown, revoked or expired token was sent.
 * - `upstream_credential_refused`: an upstream refused the service's credential.
 */
export const SECURITY_EVENT_KINDS = [
  "sign_in_failed",
  "sign_in_limited",
  "operator_signed_in",
  "unknown_key",
  "revoked_key",
  "account_suspended",
  "ip_blocked",
  "management_token_refused",
  "upstream_credential_refused",
] as const;
/** The kind of a security event. */
export type SecurityEventKind = (typeof SECURITY_EVENT_KINDS)[number];
