import type { AccountAdmin } from "../accounts/account-admin.ts";
import type { IpRuleBook } from "../accounts/ip-rules.ts";
import type { ManagementTokens } from "../accounts/management-token.ts";
import type { SignIn } from "../accounts/sign-in.ts";
import type { SettingsComparison } from "../admission/settings-comparison.ts";
import type { AuditChain } from "../audit/audit-chain.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { AuditTail } from "../audit/audit-tail.ts";
import type { FirstStepsReader } from "../audit/first-steps.ts";
import type { Reconciler } from "../audit/reconciliation.ts";
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
import type { Reads } from "../database/reads.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { JournalRepair } from "../journal/journal-repair.ts";
import type { Keys } from "../keys/keys.ts";
import type { SecurityLog } from "../security/security-log.ts";
import type { Transport } from "../upstream/transport.ts";
import type { NodeStatus } from "./node-status.ts";

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
