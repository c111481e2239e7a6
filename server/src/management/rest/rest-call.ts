import type { ManagementCall } from "../../operations/operation.ts";
import { type CallerParts, callerOfToken, type RpcCaller } from "../caller.ts";
import type { AppRouter } from "../router.ts";
import { createCallerFactory, type RpcContext } from "../trpc.ts";

/** Who calls a REST operation. @throws {Failure} for a management token that is not valid. */
export async function callerOf(
  { credential, clientInfo }: ManagementCall,
  parts: CallerParts,
): Promise<RpcCaller> {
  return credential.kind === "key" ? credential : await callerOfToken(parts, credential.token, clientInfo);
}

/** REST requests have no session, and no subscriptions. */
export function contextOf({ requestId, clientInfo }: ManagementCall, caller: RpcCaller): RpcContext {
  return {
    requestId,
    caller,
    clientInfo,
    requireSameCaller: () => Promise.reject(new Error("a REST operation has no long calls")),
    sessionCookie: { set: () => {}, clear: () => {} },
  };
}

/** Calls a procedure with an input that it checks. */
export type ProcedureCall = (context: RpcContext, input: unknown) => Promise<unknown>;

/** Calls a procedure by its full name. */
export function callerOfProcedure(router: AppRouter, procedure: string): ProcedureCall {
  const createCaller = createCallerFactory(router);
  return (context, input) => {
    const found = procedure
      .split(".")
      .reduce<unknown>(
        (part, name) => (part as Readonly<Record<string, unknown>>)[name],
        createCaller(context),
      );
    return (found as (input: unknown) => Promise<unknown>)(input);
  };
}
