import type { Catalog } from "../catalog/catalog.ts";
import { type AccountServices, accountRouter } from "./account.ts";
import { type AuditServices, auditRouter } from "./audit.ts";
import { type AuthServices, authRouter } from "./auth.ts";
import { type CreditServices, creditsRouter } from "./credits.ts";
import { type KeyServices, keysRouter } from "./keys.ts";
import { type OperatorServices, operatorRouter } from "./operator.ts";
import { type TokenServices, tokensRouter } from "./tokens.ts";
import { accountReader, publicProcedure, router } from "./trpc.ts";
import { type UsageServices, usageRouter } from "./usage.ts";

export interface RpcServices
  extends AuthServices,
    AccountServices,
    KeyServices,
    TokenServices,
    AuditServices,
    UsageServices,
    CreditServices,
    OperatorServices {
  readonly catalog: Catalog;
  readonly service: {
    /** The operator's own name for the service. */
    readonly serviceName: string;
    /** Scheme, host and port that clients use. */
    readonly publicUrl: string;
  };
}

/** Every procedure of the management plane. */
export function createAppRouter(services: RpcServices) {
  return router({
    service: router({
      /** What the dashboard must know before anyone is signed in. */
      info: publicProcedure.query(() => ({
        ...services.service,
        signUp: services.signUpIsOpen ? ("open" as const) : ("closed" as const),
      })),
    }),
    auth: authRouter(services),
    account: accountRouter(services),
    keys: keysRouter(services),
    tokens: tokensRouter(services),
    audit: auditRouter(services),
    usage: usageRouter(services),
    credits: creditsRouter(services),
    operator: operatorRouter(services),
    models: router({
      list: accountReader.query(() => ({
        models: services.catalog.models.map(({ routes: _, ...model }) => model),
      })),
    }),
  });
}

export type AppRouter = ReturnType<typeof createAppRouter>;
