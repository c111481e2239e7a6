import { Hono } from "hono";
import { type EntryId, requestIdOf } from "./audit/entry.ts";
import type { Dashboard } from "./dashboard/dashboard.ts";

export interface AppParts {
  readonly rpc: (request: Request, peer: string) => Promise<Response>;
  readonly metrics: (request: Request, peer: string) => Promise<Response>;
  readonly dashboard: Dashboard;
  readonly newId: () => EntryId;
  /** What keeps the node from doing its work; `null` when nothing does. */
  readonly notReady: () => Promise<string | null>;
}

/** Everything that is not the request plane: procedures, health, the dashboard. */
export function createApp(parts: AppParts): (request: Request, peer: string) => Promise<Response> {
  const app = new Hono<{ Bindings: { peer: string } }>();
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
  app.get("/metrics", (context) => parts.metrics(context.req.raw, context.env.peer));
  app.all("/trpc/*", (context) => parts.rpc(context.req.raw, context.env.peer));
  app.all("*", (context) => parts.dashboard.answer(context.req.raw));
  return async (request, peer) => app.fetch(request, { peer });
}
