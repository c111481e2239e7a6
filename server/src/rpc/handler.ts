import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import type { Logger } from "pino";
import { RefusedCaller } from "../access/access.ts";
import type { Visit } from "../accounts/user.ts";
import type { BodyBudget } from "../admission/body-budget.ts";
import { type EntryId, requestIdOf, timeOfEntry } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { envelopeOf, Failure, headersOf, toFailure } from "../errors/failure.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { type CallerParts, callerOf, requireSameCaller } from "./caller.ts";
import { recordKeyUse } from "./key-use.ts";
import type { AppRouter } from "./router.ts";
import { requireSameOrigin } from "./same-origin.ts";
import { SessionCookie } from "./session-cookie.ts";
import { failureOf, type RpcContext } from "./trpc.ts";
import { withWholeBody } from "./whole-body.ts";

const MAX_BATCH = 20;
const MAX_BODY_BYTES = 1024 * 1024;
const BODY_PATIENCE_MS = 30_000;
const MAX_USER_AGENT_LENGTH = 256;

export interface RpcParts extends CallerParts {
  readonly router: AppRouter;
  /** What request bodies may take of the process's memory while they come. */
  readonly bodies: BodyBudget;
  readonly recorder: Recorder;
  readonly newId: () => EntryId;
  readonly now: () => Date;
  /** The client's address, from the socket's and what proxies say. */
  readonly clientAddress: (request: Request, peer: string) => string | null;
  readonly log: Logger;
  /** The dashboard's configured address, `null` when it is wherever the browser finds it. */
  readonly publicOrigin: string | null;
}

/** `/trpc/*` as a web-standard handler. */
export function createRpcHandler(parts: RpcParts): (request: Request, peer: string) => Promise<Response> {
  const cookie = new SessionCookie(parts.publicOrigin);
  return async (request, peer) => {
    const id = parts.newId();
    const requestId = requestIdOf(id);
    const visit = visitOf(request, parts.clientAddress(request, peer));
    const use = { id, at: timeOfEntry(id), request, sourceIp: visit.sourceIp };
    try {
      requireRpcForm(request, parts.publicOrigin);
      // Before the caller is looked at: whoever sends slowly would act by a right that was taken in the meantime.
      const sender = parts.bodies.address(visit.sourceIp);
      const complete = await withWholeBody(request, MAX_BODY_BYTES, BODY_PATIENCE_MS, sender);
      const setCookies: string[] = [];
      const sessionToken = cookie.read(request.headers);
      const caller = await callerOf(parts, request, sessionToken, visit);
      const context: RpcContext = {
        requestId,
        caller,
        visit,
        requireSameCaller: () => requireSameCaller(parts, caller, request, sessionToken, visit),
        sessionCookie: {
          set: (session) => void setCookies.push(cookie.keep(session)),
          clear: () => void setCookies.push(cookie.forget()),
        },
      };
      // What a procedure that failed asks its caller to do, such as to wait.
      const failureHeaders = new Headers();
      const response = await fetchRequestHandler({
        endpoint: "/trpc",
        req: complete,
        router: parts.router,
        createContext: () => context,
        maxBatchSize: MAX_BATCH,
        onError: ({ error, path }) => {
          const failure = failureOf(error);
          for (const [name, value] of Object.entries(headersOf(failure))) failureHeaders.set(name, value);
          if (failure.status < 500) return;
          parts.log.error({ requestId, path, code: failure.code, err: failure.cause }, "a procedure failed");
        },
      });
      if (caller.kind === "key") {
        const { snapshot, wouldRefuse } = caller.permission;
        const outcome = { status: response.status, errorCode: null, wouldRefuse };
        await recordKeyUse(parts.recorder, parts.now, use, snapshot, outcome);
      }
      for (const [name, value] of failureHeaders) response.headers.set(name, value);
      for (const value of setCookies) response.headers.append("set-cookie", value);
      response.headers.set("x-request-id", requestId);
      response.headers.set("cache-control", "no-store");
      return response;
    } catch (thrown) {
      const failure = thrown instanceof RefusedCaller ? thrown.failure : toFailure(thrown);
      if (thrown instanceof RefusedCaller) {
        const outcome = { status: failure.status, errorCode: failure.code, wouldRefuse: null };
        await recordKeyUse(parts.recorder, parts.now, use, thrown.snapshot, outcome);
      }
      if (failure.status >= 500) {
        parts.log.error({ requestId, code: failure.code, err: failure.cause }, "a management request failed");
      }
      return Response.json(envelopeOf(failure), {
        status: failure.status,
        headers: { ...headersOf(failure), "x-request-id": requestId },
      });
    }
  };
}

function visitOf(request: Request, sourceIp: string | null): Visit {
  const userAgent = request.headers.get("user-agent");
  return {
    sourceIp,
    userAgent: userAgent === null ? null : withoutSecrets(userAgent).slice(0, MAX_USER_AGENT_LENGTH),
  };
}

/** A body that is not JSON needs no preflight, and tRPC would run mutations without input from it. */
function requireRpcForm(request: Request, publicOrigin: string | null): void {
  if (request.method === "GET") return;
  if (request.method !== "POST") {
    throw new Failure("method_not_allowed", "Use GET or POST here.", { headers: { allow: "GET, POST" } });
  }
  requireSameOrigin(request.headers, publicOrigin);
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Failure("unsupported_media_type", "Send `content-type: application/json`.");
  }
}
