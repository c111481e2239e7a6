/**
 * What somebody did at the service's doors.
 *
 * - `sign_in_failed`: e-mail address and password did not match, also where a password is changed.
 * - `sign_in_limited`: refused after too many attempts, whether right or wrong.
 * - `operator_signed_in`
 * - `unknown_key`: a key was shown that is nobody's, or something else in its place.
 * - `revoked_key`: a revoked key was used.
 * - `account_suspended`, `ip_blocked`: a key or management token was refused for it.
 * - `management_token_refused`: one that is nobody's, revoked or expired.
 * - `upstream_credential_refused`: a model's server has refused the service's own credential.
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
/** What somebody did at the service's doors: see {@link SECURITY_EVENT_KINDS}. */
export type SecurityEventKind = (typeof SECURITY_EVENT_KINDS)[number];
