import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import type { Logger } from "pino";
import { v7 as uuidv7 } from "uuid";
import { type Access, RefusedCaller } from "../access/access.ts";
import type { SignIn } from "../accounts/sign-in.ts";
import { type EntryId, requestIdOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { envelopeOf, Failure, headersOf, toFailure } from "../errors/failure.ts";
import type { KeySnapshot } from "../keys/key.ts";
import { recordKeyUse } from "./key-use.ts";
import type { AppRouter } from "./router.ts";
import { requireSameOrigin } from "./same-origin.ts";
import { SessionCookie } from "./session-cookie.ts";
import { failureOf, type RpcContext } from "./trpc.ts";

const MAX_BATCH = 20;
const MAX_BODY_BYTES = 1024 * 1024;

export interface RpcParts {
  readonly router: AppRouter;
  readonly signIn: SignIn;
  readonly access: Access;
  readonly recorder: Recorder;
  readonly now: () => Date;
  /** The client's address, from the socket's and what proxies say. */
  readonly clientAddress: (request: Request, peer: string) => string | null;
  readonly log: Logger;
  /** The dashboard's configured address, `null` when it is wherever the browser finds it. */
  readonly publicOrigin: string | null;
}

/** `/trpc/*` as a web-standard handler. */
export function createRpcHandler(parts: RpcParts): (request: Request, peer: string) => Promise<Response> {
  const cookie = new SessionCookie(parts.publicOrigin?.startsWith("https:") ?? false);
  return async (request, peer) => {
    const id = uuidv7() as EntryId;
    const requestId = requestIdOf(id);
    const use = { id, at: parts.now(), request, sourceIp: parts.clientAddress(request, peer) };
    try {
      requireRpcForm(request, parts.publicOrigin);
      const setCookies: string[] = [];
      const context = await contextOf(request, requestId, parts, cookie, setCookies);
      const response = await fetchRequestHandler({
        endpoint: "/trpc",
        req: request,
        router: parts.router,
        createContext: () => context,
        maxBatchSize: MAX_BATCH,
        onError: ({ error, path }) => {
          const failure = failureOf(error);
          if (failure.status < 500) return;
          parts.log.error({ requestId, path, code: failure.code, err: failure.cause }, "a procedure failed");
        },
      });
      if (context.key !== null) {
        await recordKeyUse(parts.recorder, parts.now, use, context.key, {
          status: response.status,
          errorCode: null,
        });
      }
      for (const value of setCookies) response.headers.append("set-cookie", value);
      response.headers.set("x-request-id", requestId);
      response.headers.set("cache-control", "no-store");
      return response;
    } catch (thrown) {
      const failure = thrown instanceof RefusedCaller ? thrown.failure : toFailure(thrown);
      if (thrown instanceof RefusedCaller) {
        const outcome = { status: failure.status, errorCode: failure.code };
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

/** A body that is not JSON needs no preflight, and tRPC would run mutations without input from it. */
function requireRpcForm(request: Request, publicOrigin: string | null): void {
  if (request.method === "GET") return;
  if (request.method !== "POST") {
    throw new Failure("method_not_allowed", "Use GET or POST here.", { headers: { allow: "GET, POST" } });
  }
  requireSameOrigin(request, publicOrigin);
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Failure("unsupported_media_type", "Send `content-type: application/json`.");
  }
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) {
    throw new Failure("request_too_large", `The body exceeds ${MAX_BODY_BYTES} bytes. Send less.`);
  }
}

async function contextOf(
  request: Request,
  requestId: string,
  parts: RpcParts,
  cookie: SessionCookie,
  setCookies: string[],
): Promise<RpcContext> {
  const token = cookie.read(request);
  const signedIn = token === null ? null : await parts.signIn.findSession(token);
  return {
    requestId,
    session: token === null || signedIn === null ? null : { token, signedIn },
    key: await keyOf(request, parts.access),
    sessionCookie: {
      set: (fresh) => void setCookies.push(cookie.keep(fresh)),
      clear: () => void setCookies.push(cookie.forget()),
    },
  };
}

async function keyOf(request: Request, access: Access): Promise<KeySnapshot | null> {
  const authorization = request.headers.get("authorization");
  if (authorization === null) return null;
  return access.confirm(await access.identify([authorization]));
}
