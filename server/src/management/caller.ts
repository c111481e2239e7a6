import type { Access, Permission } from "../access/access.ts";
import { readManagementToken } from "../access/bearer.ts";
import { eventOfRefusedKey } from "../access/refused-key.ts";
import type { IpRuleBook } from "../accounts/ip-rules.ts";
import type { ManagementTokens } from "../accounts/management-token.ts";
import { ipBlocked, suspended } from "../accounts/refusals.ts";
import type { SignIn } from "../accounts/sign-in.ts";
import type { ClientInfo, SessionId, SignedIn } from "../accounts/user.ts";
import type { AccountId } from "../contract/account.ts";
import type { TokenUuid } from "../contract/ids.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { withoutSecrets } from "../secrets/redact.ts";

/** The caller of a procedure, whose credential was checked. */
export type RpcCaller =
  | { readonly kind: "anonymous" }
  | { readonly kind: "session"; readonly id: SessionId; readonly signedIn: SignedIn }
  | { readonly kind: "management-token"; readonly id: TokenUuid; readonly signedIn: SignedIn }
  | { readonly kind: "key"; readonly permission: Permission };

const MAX_USER_AGENT_LENGTH = 256;

/** What is known of a client, beside its credential. `userAgent` is the header's value, without secrets afterwards. */
export function clientInfoOf(sourceIp: string | null, userAgent: string | null): ClientInfo {
  return {
    sourceIp,
    userAgent: userAgent === null ? null : withoutSecrets(userAgent).slice(0, MAX_USER_AGENT_LENGTH),
  };
}

/** What a request for procedures shows of its sender. */
export interface SentCredentials {
  readonly request: Request;
  /** The token of the session cookie; `null` without one. */
  readonly sessionToken: string | null;
  readonly clientInfo: ClientInfo;
}

export interface CallerParts {
  readonly access: Access;
  readonly ipRules: IpRuleBook;
  readonly managementTokens: ManagementTokens;
  readonly signIn: SignIn;
  readonly security: SecurityEvents;
}

/**
 * Authenticates the caller. An `Authorization` header takes precedence over the session cookie.
 *
 * @throws {Failure | RefusedCaller} when the credential is refused.
 */
export async function callerOf(
  parts: CallerParts,
  { request, sessionToken, clientInfo }: SentCredentials,
): Promise<RpcCaller> {
  const header = request.headers.get("authorization");
  if (header !== null) {
    const token = readManagementToken([header]);
    if (token !== null) return await callerOfToken(parts, token, clientInfo);
    return { kind: "key", permission: await useKey(parts, header, clientInfo) };
  }
  const session =
    sessionToken === null ? null : await parts.signIn.findSession(sessionToken, clientInfo.sourceIp);
  return session === null ? { kind: "anonymous" } : { kind: "session", ...session };
}

/**
 * Authenticates the caller by a management token. It is refused like a key, for a suspended account and by IP rules, so that a leaked one cannot mint
 * keys from anywhere. A session of its user may still read, and revoke keys.
 *
 * @throws {Failure} `invalid_management_token`; `rate_limit_exceeded` when too many unknown ones came from the address;
 *   `account_suspended`; `ip_blocked`.
 */
export async function callerOfToken(
  { managementTokens, ipRules, security }: CallerParts,
  token: string,
  clientInfo: ClientInfo,
): Promise<Extract<RpcCaller, { kind: "management-token" }>> {
  const { id, signedIn } = await managementTokens.authenticate(token, clientInfo);
  if (signedIn.role === "owner") {
    const { account } = signedIn;
    const { sourceIp } = clientInfo;
    const refuse = (kind: "account_suspended" | "ip_blocked", failure: Failure) => {
      security.note({ kind, accountId: account.id, keyId: null, sourceIp });
      throw failure;
    };
    if (account.state === "suspended") refuse("account_suspended", suspended());
    if (ipRules.judge(account, sourceIp) === "blocked") refuse("ip_blocked", ipBlocked(sourceIp));
  }
  return { kind: "management-token", id, signedIn };
}

/**
 * Checks during a long call that the caller's credential is still valid.
 *
 * @throws {Failure | RefusedCaller} when it is not, or when it cannot be checked.
 */
export async function requireSameCaller(
  parts: CallerParts,
  sent: SentCredentials,
  caller: RpcCaller,
): Promise<void> {
  const { kind } = await callerOf(parts, sent);
  if (kind !== caller.kind) throw new Failure("not_signed_in", "Sign in again.");
}

/** The owner of an account. @throws {Failure} for an operator. */
export function ownerOf(signedIn: SignedIn): Extract<SignedIn, { role: "owner" }> {
  if (signedIn.role === "owner") return signedIn;
  throw new Failure("permission_denied", "Operators have no account. Call as a user of the account.");
}

/** The refusal of a caller whose account was deleted since they were authenticated. */
export function noSuchAccount(): Failure {
  return new Failure("not_found", "The account no longer exists. Sign in to another account.");
}

export function notSignedIn(): Failure {
  return new Failure("not_signed_in", "Sign in first.");
}

/** The account that a management token may act for. @throws {Failure} as {@link callerOfToken}; `permission_denied` for an operator's. */
export async function accountOfToken(
  parts: CallerParts,
  token: string,
  clientInfo: ClientInfo,
): Promise<AccountId> {
  const { signedIn } = await callerOfToken(parts, token, clientInfo);
  return ownerOf(signedIn).account.id;
}

/**
 * The account of the user of a session.
 *
 * @throws {Failure} `not_signed_in`; `rate_limit_exceeded` when too many unknown sessions came from the address; `permission_denied` for
 * an operator.
 */
export async function accountOfSession(
  signIn: SignIn,
  sessionToken: string | null,
  sourceIp: string | null,
): Promise<AccountId> {
  const session = sessionToken === null ? null : await signIn.findSession(sessionToken, sourceIp);
  if (session === null) throw notSignedIn();
  return ownerOf(session.signedIn).account.id;
}

async function useKey(
  { access, security }: CallerParts,
  header: string,
  { sourceIp }: ClientInfo,
): Promise<Permission> {
  try {
    return await access.authorize(await access.authenticate([header], "key-or-management-token"), sourceIp);
  } catch (thrown) {
    const event = eventOfRefusedKey(thrown, { hasCredential: true, sourceIp });
    if (event !== null) security.note(event);
    throw thrown;
  }
}
