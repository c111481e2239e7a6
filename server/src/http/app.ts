import { Hono } from "hono";
import { type EntryId, requestIdOf } from "../contract/entry.ts";
import { recordablePath } from "../contract/recorded-text.ts";
import { envelopeOf, headersOf, toFailure } from "../errors/failure.ts";
import type { FaultLog } from "../errors/fault-log.ts";
import type { AccessLog } from "../request/services.ts";
import type { Dashboard } from "./dashboard.ts";
import type { BodyOfShared, Served } from "./listener.ts";

/** Answers a request. `peer`: the address of the socket's other end. */
type Answer = (request: Request, peer: string) => Promise<Response>;
type AnswerAll = Served["web"];

interface AppParts {
  readonly rpc: Answer;
  readonly metrics: Answer;
  readonly dashboard: Pick<Dashboard, "answer">;
  readonly newId: () => EntryId;
  /** Why the node is not ready; `null` when it is. */
  readonly notReady: () => Promise<string | null>;
  readonly faults: Pick<FaultLog, "note">;
  /** `null` without an access log. */
  readonly accessLog: AccessLog | null;
  readonly clientAddress: (request: Request, peer: string) => string | null;
  /** Throws for a request to a host that is not the service's own. */
  readonly requireOwnHost: (request: Request) => void;
}

/**
 * Creates the handler of everything but the API: procedures, health, metrics, the dashboard. It always resolves. Errors are logged
 * without secrets and answered with the error envelope.
 */
export function createApp(parts: AppParts): AnswerAll {
  // A path may end in a slash: a probe of `/readyz/` must not be answered with the dashboard.
  const app = new Hono<{ Bindings: { peer: string; bodyOfShared: BodyOfShared | undefined } }>({
    strict: false,
  });
  const answerFailure = (thrown: unknown, request: Request): Response => {
    const failure = toFailure(thrown);
    const requestId = requestIdOf(parts.newId());
    const path = recordablePath(pathOf(request));
    parts.faults.note(failure, {}, { requestId, method: request.method, path });
    return Response.json(envelopeOf(failure), {
      status: failure.status,
      headers: { ...headersOf(failure), "x-request-id": requestId, "cache-control": "no-store" },
    });
  };
  app.onError((error, context) => answerFailure(error, context.req.raw));
  app.use(async (context, next) => {
    await next();
    if (!context.res.headers.has("x-request-id")) {
      context.res.headers.set("x-request-id", requestIdOf(parts.newId()));
    }
  });
  app.get("/healthz", (context) => context.json({ status: "ok" }));
  app.get("/readyz", async (context) => {
    const reason = await parts.notReady();
    if (reason === null) return context.json({ status: "ready" });
    return context.json({ status: "not ready", reason }, 503);
  });
  // Probes have addresses of all kinds.
  app.use(async (context, next) => {
    parts.requireOwnHost(context.req.raw);
    await next();
  });
  app.get("/metrics", (context) => parts.metrics(context.req.raw, context.env.peer));
  app.all("/trpc/*", (context) => parts.rpc(context.req.raw, context.env.peer));
  app.all("*", (context) => parts.dashboard.answer(context.req.raw, context.env.bodyOfShared));
  const answer: AnswerAll = async (request, peer, bodyOfShared) => {
    try {
      return await app.fetch(request, { peer, bodyOfShared });
    } catch (thrown) {
      // Hono's handler ignores thrown values that are no `Error`.
      return answerFailure(thrown, request);
    }
  };
  const { accessLog } = parts;
  return accessLog === null ? answer : logged(answer, accessLog, parts.clientAddress);
}

function logged(
  answer: AnswerAll,
  accessLog: AccessLog,
  clientAddress: AppParts["clientAddress"],
): AnswerAll {
  return async (request, peer, bodyOfShared) => {
    const startedMs = performance.now();
    const response = await answer(request, peer, bodyOfShared);
    accessLog({
      requestId: response.headers.get("x-request-id") ?? "",
      method: request.method,
      path: pathOf(request),
      status: response.status,
      durationMs: Math.round(performance.now() - startedMs),
      clientAddress: clientAddress(request, peer),
    });
    return response;
  };
}

/** The path, without the query, which may hold anything. */
function pathOf(request: Request): string {
  return request.url.replace(/^[a-z]+:\/\/[^/]*|[?#].*$/gi, "");
}
