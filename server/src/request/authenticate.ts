import { validate } from "uuid";
import { type KeyCaller, type Permission, RefusedCaller } from "../access/access.ts";
import { readManagementToken } from "../access/bearer.ts";
import { eventOfRefusedKey } from "../access/refused-key.ts";
import type { AccountId } from "../contract/account.ts";
import type { KeyUuid } from "../contract/key.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { clientInfoOf } from "../management/caller.ts";
import type { AuthMode } from "../operations/operation.ts";
import type { RequestContext } from "./request-context.ts";
import { authorizationOf, hasCredential } from "./sent-credential.ts";
import type { Services } from "./services.ts";

const BEARER_KEY = /^Bearer sk-/;

/** What the caller of a request has authenticated with. It is not yet authorized: see {@link authorize}. */
export type Identity =
  | { readonly kind: "key" | "session-as-key"; readonly caller: KeyCaller }
  | { readonly kind: "management-token"; readonly token: string }
  | { readonly kind: "session" };

/**
 * Finds the caller of a request, without deciding whether the request is allowed. If the caller has a key, the context gets the caller, so that the
 * request is recorded in the log of the key's account.
 *
 * @throws {Failure} `invalid_api_key`, `not_signed_in`, `permission_denied` for a page of another site, `not_found` for a key that the account does
 *   not have, or `server_is_overloaded` when the stores do not answer.
 */
export async function authenticate(
  request: RequestContext,
  { auth }: { readonly auth: AuthMode },
  services: Services,
): Promise<Identity> {
  const { exchange } = request;
  if (auth === "session" || auth === "session-as-key") services.sessions.requireSameOrigin(exchange);
  if (auth === "session") return { kind: "session" };
  if (auth === "session-as-key") {
    request.caller = await callerOfNamedKey(request, services);
    return { kind: "session-as-key", caller: request.caller };
  }
  if (auth === "key-or-management-token") {
    const token = readManagementToken(exchange.header("authorization"));
    if (token !== null) return { kind: "management-token", token };
  }
  const known = services.access.authenticate(authorizationOf(exchange), auth);
  request.caller = known instanceof Promise ? await known : known;
  return { kind: "key", caller: request.caller };
}

/**
 * Decides by the account's present state whether the request may proceed.
 *
 * @returns the account that it acts for.
 * @throws {RefusedCaller | Failure} when the request may not proceed.
 */
export async function authorize(
  request: RequestContext,
  identity: Identity,
  services: Services,
): Promise<AccountId> {
  if (!("caller" in identity)) return await accountOf(request, identity, services);
  const { exchange, sourceIp } = request;
  const { access, sessions } = services;
  // The session may have ended while the body was received.
  if (identity.kind === "session-as-key") await sessions.accountOf(exchange, sourceIp);
  return notePermission(request, await access.authorize(identity.caller, sourceIp));
}

/**
 * Decides as {@link authorize}, and admits the request within the limits of its key's account. It is called once, when the body has arrived, so that
 * it misses no change that was answered in the meantime.
 *
 * @param tokens what the request is estimated to take of the limits.
 * @throws {RefusedCaller | Failure} when the request may not proceed.
 */
export async function authorizeAndAdmit(
  request: RequestContext,
  identity: Identity,
  tokens: number,
  services: Services,
): Promise<AccountId> {
  if (!("caller" in identity)) throw new Error("only a caller with a key is admitted within limits");
  const { exchange, sourceIp } = request;
  const { access, sessions } = services;
  if (identity.kind === "session-as-key") await sessions.accountOf(exchange, sourceIp);
  try {
    return notePermission(request, await access.authorizeAndAdmit(identity.caller, sourceIp, tokens));
  } catch (thrown) {
    if (thrown instanceof RefusedCaller) request.wouldRefuse = thrown.wouldRefuse;
    throw thrown;
  }
}

/** Notes the permission in the context. Returns the account that the request acts for. */
function notePermission(request: RequestContext, permission: Permission): AccountId {
  request.permission = permission;
  request.wouldRefuse = permission.wouldRefuse;
  request.body?.stopCounting();
  return permission.snapshot.account.id;
}

/** Decides again whether a request that was authorized may go on. @throws as {@link authorize}. */
export async function requireStillAllowed(
  request: RequestContext,
  identity: Identity,
  services: Services,
): Promise<void> {
  const { sourceIp } = request;
  if ("caller" in identity) await services.access.authorize(identity.caller, sourceIp);
  else await accountOf(request, identity, services);
}

/** The account of a caller without a key. @throws {Failure} when the caller may not proceed. */
async function accountOf(
  { exchange, sourceIp }: RequestContext,
  identity: Exclude<Identity, { caller: KeyCaller }>,
  { accountOfToken, sessions }: Services,
): Promise<AccountId> {
  if (identity.kind === "session") return await sessions.accountOf(exchange, sourceIp);
  const clientInfo = clientInfoOf(sourceIp, exchange.header("user-agent")[0] ?? null);
  return await accountOfToken(identity.token, clientInfo);
}

/**
 * The caller of a request that needs no key, in whose log it is recorded if one was sent; `null` without a key, and for one that does not exist.
 *
 * @throws {Failure} `server_is_overloaded` when the stores do not answer.
 */
export async function callerOfSentKey(
  request: RequestContext,
  services: Services,
): Promise<KeyCaller | null> {
  try {
    const authorization = authorizationOf(request.exchange);
    if (authorization[0] === undefined || !BEARER_KEY.test(authorization[0])) return null;
    return await services.access.authenticate(authorization);
  } catch (thrown) {
    if (!(thrown instanceof Failure) || thrown.status >= 500) throw thrown;
    noteRefusedKey(request, thrown, services.security);
    return null;
  }
}

/** The request names the key and does not contain it. The session authorizes the person to use it. */
async function callerOfNamedKey(
  { exchange, sourceIp }: RequestContext,
  { access, sessions }: Services,
): Promise<KeyCaller> {
  const accountId = await sessions.accountOf(exchange, sourceIp);
  const caller = await access.authenticateAs(accountId, readKeyUuid(exchange.header("ostiary-key")));
  if (caller !== null) return caller;
  throw new Failure("not_found", "The account has no such key. List its keys to find the id.", {
    param: "ostiary-key",
  });
}

function readKeyUuid([value, ...others]: readonly string[]): KeyUuid {
  if (value !== undefined && others.length === 0 && validate(value)) return value.toLowerCase() as KeyUuid;
  throw new Failure("invalid_request", "ostiary-key: must come once, with the id of a key", {
    param: "ostiary-key",
  });
}

/** Records the security event of a request that was refused for its key, and marks a request whose key does not exist. Ignores other failures. */
export function noteRefusedKey(request: RequestContext, thrown: unknown, security: SecurityEvents): void {
  if (thrown instanceof Failure && thrown.code === "invalid_api_key") request.isWithoutKnownKey = true;
  const { exchange, sourceIp } = request;
  const event = eventOfRefusedKey(thrown, { hasCredential: hasCredential(exchange), sourceIp });
  if (event !== null) security.note(event);
}
