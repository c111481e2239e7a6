import type { ErrorCode } from "../../../../sdk/src/contract/error-codes.ts";
import { type Answers, errors, KEY_ERRORS } from "../../operations/openapi-parts.ts";
import type { ManagementCall, ManagementOperation } from "../../operations/operation.ts";
import type { CallLimits } from "../call-limits.ts";
import { type CallerParts, callerOfToken, type RpcCaller } from "../caller.ts";
import { keyRefused, type RpcContext } from "../trpc.ts";

export interface RestCallParts extends CallerParts {
  readonly callLimits: CallLimits;
}

/**
 * Authenticates the caller of a REST operation, and counts the call.
 *
 * @param operation.takesKeys Whether API keys may call it.
 * @throws {Failure} for a caller that may not call it.
 */
export async function admitCaller(
  { credential, clientInfo }: ManagementCall,
  parts: RestCallParts,
  { takesKeys }: { readonly takesKeys: boolean },
): Promise<RpcCaller> {
  const caller =
    credential.kind === "key" ? credential : await callerOfToken(parts, credential.token, clientInfo);
  await parts.callLimits.count(caller, clientInfo.sourceIp, 1);
  if (caller.kind === "key" && !takesKeys) throw keyRefused();
  return caller;
}

/**
 * Checks during a long answer that the management token which it was begun with is still valid.
 *
 * @throws {Failure} when it is not, or when it cannot be checked.
 */
export async function requireSameToken(
  { credential, clientInfo }: ManagementCall,
  parts: CallerParts,
): Promise<void> {
  if (credential.kind === "management-token") await callerOfToken(parts, credential.token, clientInfo);
}

/** The context of a procedure that a REST request calls. Such requests have no session, and no subscriptions. */
export function contextOf({ requestId, clientInfo, signal }: ManagementCall, caller: RpcCaller): RpcContext {
  return {
    requestId,
    caller,
    clientInfo,
    answers: null,
    signal,
    requireSameCaller: () => Promise.reject(new Error("a REST operation has no long calls")),
    sessionCookie: { set: () => {}, clear: () => {} },
  };
}

const BODY_ERRORS: readonly ErrorCode[] = [
  "invalid_json",
  "request_timeout",
  "request_too_large",
  "unsupported_media_type",
];

/** The failures of a REST operation in the OpenAPI document. @param own error codes beside those of every operation. */
export function restErrors(method: ManagementOperation["method"], own: readonly ErrorCode[]): Answers {
  return errors([
    ...KEY_ERRORS,
    "invalid_management_token",
    "permission_denied",
    "invalid_request",
    "rate_limit_exceeded",
    ...(method === "GET" ? [] : BODY_ERRORS),
    ...own,
  ]);
}
