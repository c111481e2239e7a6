import type { AccountAdmin } from "../accounts/account-admin.ts";
import type { IpRuleBook } from "../accounts/ip-rules.ts";
import type { ManagementTokens } from "../accounts/management-token.ts";
import type { SignIn } from "../accounts/sign-in.ts";
import type { SettingsComparison } from "../admission/settings-comparison.ts";
import type { AuditChain } from "../audit/audit-chain.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { AuditTail } from "../audit/audit-tail.ts";
import type { FirstStepsReader } from "../audit/first-steps.ts";
import type { AuditSummary } from "../audit/summary.ts";
import type { UsageReports } from "../audit/usage.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { AccountId } from "../contract/account.ts";
import type { NewAction } from "../contract/action.ts";
import type { LimitUse } from "../contract/limits.ts";
import type { Plans } from "../contract/plans.ts";
import type { Credits } from "../credits/credits.ts";
import type { PostgresLedger } from "../credits/ledger.ts";
import type { PostgresCredit } from "../credits/postgres-credit.ts";
import type { Reconciler } from "../credits/reconciliation-store.ts";
import type { Reads } from "../database/reads.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { JournalRepair } from "../journal/journal-repair.ts";
import type { Keys } from "../keys/keys.ts";
import type { SecurityLog } from "../security/security-log.ts";
import type { Transport } from "../upstream/transport.ts";
import { accountRouter } from "./account.ts";
import { auditRouter } from "./audit.ts";
import { authRouter } from "./auth.ts";
import { cachedAnswer } from "./cached-answer.ts";
import { creditsRouter } from "./credits.ts";
import { keysRouter } from "./keys.ts";
import type { NodeStatus } from "./node-status.ts";
import { operatorRouter } from "./operator.ts";
import { tokensRouter } from "./tokens.ts";
import { accountReadProcedure, publicProcedure, router } from "./trpc.ts";
import { usageRouter } from "./usage.ts";

/** What the procedures use. */
export interface RpcServices {
  readonly accountAdmin: AccountAdmin;
  readonly admission: { useOf(id: AccountId): Promise<LimitUse> };
  readonly auditChain: AuditChain;
  readonly auditLog: AuditLog;
  readonly auditSummary: AuditSummary;
  readonly auditTail: AuditTail;
  readonly catalog: Catalog;
  /** Resolves when the account's entries that this node has recorded are charged. */
  readonly charged: (accountId: AccountId) => Promise<void>;
  readonly credits: Pick<Credits, "forgetShortage">;
  readonly firstSteps: FirstStepsReader;
  readonly gateway: Pick<Gateway, "health">;
  readonly ipRules: IpRuleBook;
  readonly journalRepair: JournalRepair;
  readonly keys: Keys;
  readonly ledger: PostgresLedger;
  readonly managementTokens: ManagementTokens;
  readonly now: () => Date;
  readonly plans: Plans;
  /** Records an action of an operator in the audit trail. */
  readonly recordAction: (action: NewAction) => Promise<void>;
  /** How long responses are stored; 0: none is stored. */
  readonly responsesTtlDays: number;
  readonly reads: Reads;
  readonly reconciler: Reconciler;
  readonly securityLog: SecurityLog;
  readonly service: () => {
    /** The operator's own name for the service. */
    readonly serviceName: string;
    /** Scheme, host and port that clients use. */
    readonly publicUrl: string;
  };
  readonly settingsComparison: Pick<SettingsComparison, "compare" | "differences">;
  readonly signIn: SignIn;
  readonly signUpIsOpen: boolean;
  readonly spenders: PostgresCredit;
  readonly status: () => NodeStatus;
  /** Reaches providers that an operator connects. */
  readonly transport: Pick<Transport, "send">;
  readonly usage: UsageReports;
  /** Dangerous settings: a sentence or two each. */
  readonly warnings: readonly string[];
}

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
