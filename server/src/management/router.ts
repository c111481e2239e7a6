import type { Catalog } from "../catalog/catalog.ts";
import { cachedAnswer } from "./cached-answer.ts";
import { accountRouter } from "./procedures/account.ts";
import { auditRouter } from "./procedures/audit.ts";
import { authRouter } from "./procedures/auth.ts";
import { creditsRouter } from "./procedures/credits.ts";
import { keysRouter } from "./procedures/keys.ts";
import { operatorRouter } from "./procedures/operator.ts";
import { tokensRouter } from "./procedures/tokens.ts";
import { usageRouter } from "./procedures/usage.ts";
import type { RpcServices } from "./rpc-services.ts";
import { accountReadProcedure, publicProcedure, router } from "./trpc.ts";

/** The answer of `models.list`, which is the same for everyone, and large. */
const listOf = cachedAnswer((models: Catalog["models"]) => ({
  /** The models, in the order of the catalog. */
  models: models.map(({ routes: _, ...model }) => model),
}));

/** All procedures of the management API. */
export function createAppRouter(services: RpcServices) {
  return router({
    /** The service itself. */
    service: router({
      /** What the dashboard needs before sign-in. */
      info: publicProcedure.query(() => ({
        ...services.service(),
        /** Whether anyone can create an account. */
        signUp: services.signUpIsOpen ? ("open" as const) : ("closed" as const),
      })),
    }),
    /** Signing up, in and out of the dashboard. */
    auth: authRouter(services),
    /** The account of the caller. */
    account: accountRouter(services),
    /** API keys. */
    keys: keysRouter(services),
    /** Management tokens, by which scripts manage an account. */
    tokens: tokensRouter(services),
    /** The audit log: an entry for each request. */
    audit: auditRouter(services),
    /** Sums over the audit log. */
    usage: usageRouter(services),
    /** The credit of the account. */
    credits: creditsRouter(services),
    /** Procedures for operators. The audit trail records every change. */
    operator: operatorRouter(services),
    /** The models of the catalog. */
    models: router({
      /** All models, with their prices. */
      list: accountReadProcedure
        .meta({ isOncePerRequest: true })
        .query(() => listOf(services.catalog.models)),
    }),
  });
}

export type AppRouter = ReturnType<typeof createAppRouter>;
