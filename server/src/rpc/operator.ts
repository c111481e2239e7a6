import { z } from "zod";
import { SECURITY_EVENT_KINDS } from "../../../sdk/src/contract/security-words.ts";
import { ACCOUNT_STATES, type AccountId, type IpRules, PLANS } from "../accounts/account.ts";
import { type AccountAdmin, requireNetworks } from "../accounts/account-admin.ts";
import type { IpRuleChange } from "../accounts/account-change.ts";
import type { ActionId } from "../accounts/action.ts";
import type { Plans } from "../accounts/plans.ts";
import type { SignIn } from "../accounts/sign-in.ts";
import { filterInput } from "../audit/filter.ts";
import type { JournalRepair } from "../audit/journal-repair.ts";
import type { Reads } from "../audit/reads.ts";
import type { Usage } from "../audit/usage.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Books } from "../credits/books.ts";
import type { SpenderId } from "../credits/credit-store.ts";
import type { CreditSpenders } from "../credits/spenders.ts";
import { Failure } from "../errors/failure.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { SecurityLog } from "../security/security-log.ts";
import { accountNameInput, emailInput } from "./auth.ts";
import { idOf, ipAddress, paging, words } from "./inputs.ts";
import { journalRouter } from "./journal.ts";
import { operatorProcedure, router } from "./trpc.ts";
import { spanInput } from "./usage.ts";

const accountId = idOf<AccountId>();
const reason = words(500);
const searchText = z
  .string()
  .max(254)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, "must not hold control characters")
  .default("");
const MAX_NETWORKS = 1_000;
/** Of that many networks, each with up to 64 characters. */
const MAX_RULES_BYTES = 128 * 1024;
const limit = z.number().int().min(1).max(1_000_000_000).nullable();
/** 9 million USD: what a bigint column holds, with room to add. */
const MAX_GRANT_NANO_USD = 9_000_000_000_000_000n;

const networks = z.array(z.string().trim().max(64)).max(MAX_NETWORKS);
const ipRuleMode = z.enum(["enforce", "report"]);
const ipRuleChange = z
  .strictObject({ mode: ipRuleMode.nullable().default(null), networks })
  .transform((rules): IpRuleChange => ({ ...rules, networks: requireNetworks(rules.networks) }));
const ipRules = z
  .strictObject({ mode: ipRuleMode.default("enforce"), networks })
  .transform((rules): IpRules => ({ ...rules, networks: requireNetworks(rules.networks) }));

const spenderId = z
  .bigint()
  .min(1n)
  .max(2n ** 63n - 1n)
  .transform((id) => id as SpenderId);

const MOST_BOOK_HOURS = 366 * 24;

/** Where entries are kept for a time, older sums have nothing to be compared with. */
function checkableHours(plans: Plans): number {
  const days = Object.values(plans).map(
    ({ auditRetentionDays }) => auditRetentionDays ?? Number.POSITIVE_INFINITY,
  );
  return Math.min(...days) * 24 - 1;
}

export interface OperatorServices {
  readonly accountAdmin: AccountAdmin;
  readonly signIn: SignIn;
  readonly books: Books;
  readonly spenders: CreditSpenders;
  readonly gateway: Pick<Gateway, "health">;
  readonly catalog: Catalog;
  readonly plans: Plans;
  readonly usage: Usage;
  readonly reads: Reads;
  readonly securityLog: SecurityLog;
  readonly journalRepair: JournalRepair;
  /** What is dangerous about the service's settings. */
  readonly warnings: readonly string[];
}

/** What the operator of the service may do. Everything that changes something is recorded: see `audit`. */
export function operatorRouter({
  accountAdmin,
  signIn,
  books,
  spenders,
  plans,
  gateway,
  catalog,
  usage,
  reads,
  securityLog,
  journalRepair,
  warnings,
}: OperatorServices) {
  return router({
    /** What is dangerous about the settings that this node was started with: a sentence or two each. */
    warnings: operatorProcedure.query(() => ({ warnings })),
    accounts: router({
      /** Newest first; `search` is the beginning of a name or of a user's e-mail address, or an id. */
      list: operatorProcedure
        .input(
          z
            .strictObject({
              search: searchText,
              state: z.enum(ACCOUNT_STATES).optional(),
              plan: z.enum(PLANS).optional(),
              ...paging<AccountId>(200),
            })
            .default({ search: "", limit: 50 }),
        )
        .query(({ input: { search, state = null, plan = null, cursor = null, limit } }) =>
          accountAdmin.list({ search, state, plan }, cursor, limit),
        ),

      get: operatorProcedure
        .input(z.strictObject({ id: accountId }))
        .query(({ input }) => accountAdmin.get(input.id)),

      /** Also where signing up is closed. The answer holds the first user's password, this once. */
      create: operatorProcedure
        .input(
          z.strictObject({
            email: emailInput,
            accountName: accountNameInput,
            plan: z.enum(PLANS).default("free"),
          }),
        )
        .mutation(({ ctx, input }) => accountAdmin.create(ctx.actor, input)),

      /** When this has answered, every request with a key or management token of the account is refused. */
      suspend: operatorProcedure
        .input(z.strictObject({ id: accountId, reason }))
        .mutation(({ ctx, input }) =>
          accountAdmin.change(ctx.actor, input.id, { action: "account.suspend", reason: input.reason }),
        ),

      reinstate: operatorProcedure
        .input(z.strictObject({ id: accountId, reason: reason.optional() }))
        .mutation(({ ctx, input }) =>
          accountAdmin.change(ctx.actor, input.id, { action: "account.reinstate" }, input.reason ?? null),
        ),

      /** A plan with fewer keys keeps those that there are. `notices` says what else comes with it. */
      setPlan: operatorProcedure
        .input(z.strictObject({ id: accountId, plan: z.enum(PLANS), reason: reason.optional() }))
        .mutation(({ ctx, input }) =>
          accountAdmin.change(
            ctx.actor,
            input.id,
            { action: "account.setPlan", plan: input.plan },
            input.reason ?? null,
          ),
        ),

      /** Without a mode the present one stays. */
      setIpRules: operatorProcedure
        .meta({ maxInputBytes: MAX_RULES_BYTES })
        .input(z.strictObject({ id: accountId, rules: ipRuleChange, reason: reason.optional() }))
        .mutation(({ ctx, input }) =>
          accountAdmin.change(
            ctx.actor,
            input.id,
            { action: "account.setIpRules", ipRules: input.rules },
            input.reason ?? null,
          ),
        ),

      /** Would this address pass? By the account's rules, or by `rules` before they are set. */
      tryIpRules: operatorProcedure
        .meta({ maxInputBytes: MAX_RULES_BYTES })
        .input(z.strictObject({ id: accountId, address: ipAddress, rules: ipRules.optional() }))
        .query(async ({ input }) => ({
          verdict: await accountAdmin.tryIpRules(input.id, input.address, input.rules ?? null),
        })),

      /** `null`: as the plan says. */
      setLimits: operatorProcedure
        .input(
          z.strictObject({
            id: accountId,
            limits: z.strictObject({
              requestsPerMinute: limit,
              tokensPerMinute: limit,
              concurrentRequests: limit,
            }),
            reason: reason.optional(),
          }),
        )
        .mutation(({ ctx, input }) =>
          accountAdmin.change(
            ctx.actor,
            input.id,
            { action: "account.setLimits", limits: input.limits },
            input.reason ?? null,
          ),
        ),

      /** A negative amount takes credits back. */
      grantCredits: operatorProcedure
        .input(
          z.strictObject({
            id: accountId,
            amountNanoUsd: z
              .bigint()
              .refine((amount) => amount !== 0n, "must not be 0")
              .refine(
                (amount) => amount >= -MAX_GRANT_NANO_USD && amount <= MAX_GRANT_NANO_USD,
                "must be at most 9 million USD",
              ),
            reason,
          }),
        )
        .mutation(({ ctx, input }) =>
          accountAdmin.grantCredits(ctx.actor, input.id, input.amountNanoUsd, input.reason),
        ),
    }),

    users: router({
      /**
       * For a user who lost their password. The answer holds the new one, this once. The user's sessions end, and their
       * management tokens too unless `keepTokens` is given.
       */
      resetPassword: operatorProcedure
        .input(z.strictObject({ email: emailInput, keepTokens: z.boolean().default(false) }))
        .mutation(({ ctx, input }) => signIn.resetPassword(ctx.actor, input.email, input.keepTokens)),
    }),

    /**
     * What the whole service uses, as `usage.summary` tells it of an account. The 50 accounts, or 200 models, that cost most
     * over the time have rows of their own; what is left is one row for each interval (`isRest`).
     */
    usage: operatorProcedure
      .input(z.strictObject({ ...spanInput, groupBy: z.enum(["none", "model", "account"]).default("none") }))
      .query(({ input }) => usage.serviceSummary(input)),

    /**
     * What somebody did at the doors, last seen first: events of an hour that have everything in common, counted. What
     * other nodes have seen in the last seconds may be missing. An event that is seen again while pages are read moves to
     * the front.
     */
    security: operatorProcedure
      .input(
        z
          .strictObject({
            kind: z.enum(SECURITY_EVENT_KINDS).optional(),
            accountId: accountId.optional(),
            source: filterInput.source,
            ...paging(200),
            cursor: z.string().max(64).optional(),
          })
          .default({ limit: 50 }),
      )
      .query(({ input: { kind = null, accountId: account = null, source = null, cursor = null, limit } }) =>
        securityLog.list({ kind, accountId: account, source }, cursor, limit),
      ),

    /** How each upstream has answered this node. */
    upstreams: operatorProcedure.query(() => ({ upstreams: gateway.health() })),

    /** The catalog that is in force: with its routes, without credentials. */
    catalog: operatorProcedure.query(() => ({
      models: catalog.models,
      upstreams: [...catalog.upstreams.values()].map(
        ({ credential, settings, isSandbox: _, ...upstream }) => ({
          ...upstream,
          package: typeof settings.package === "string" ? settings.package : null,
          hasCredential: credential !== null,
        }),
      ),
    })),

    nodes: router({
      /**
       * The nodes that have credit set aside, or had: a row for each life of a node. A life that has ended has one until its
       * node is started again, or it is released.
       */
      list: operatorProcedure.query(async () => ({ nodes: await spenders.list() })),

      /**
       * Releases the credit that a node which will not return has set aside. What that node still owes is charged when it
       * returns after all, as far as the accounts' credit reaches; the rest is recorded as uncollected.
       */
      release: operatorProcedure
        .input(z.strictObject({ spender: spenderId, reason }))
        .mutation(async ({ ctx, input }) => {
          const released = await spenders.release(input.spender, input.reason, ctx.actor);
          if (released === null) {
            throw new Failure(
              "not_found",
              "There is no such node. `operator.nodes.list` has those there are.",
              {
                param: "spender",
              },
            );
          }
          return released;
        }),
    }),

    /** Whether the books are right: balances and ledgers, sums of usage and entries; and what is set aside. */
    checkBooks: operatorProcedure
      .input(
        z
          .strictObject({ hours: z.number().int().min(1).max(MOST_BOOK_HOURS).default(24) })
          .default({ hours: 24 }),
      )
      .query(({ input }) =>
        reads.whole("operators", (parts) =>
          parts.run(() => books.check(Math.min(input.hours, checkableHours(plans)))),
        ),
      ),

    journal: journalRouter(journalRepair),

    /** Who changed what, in one account or everywhere, newest first. */
    audit: operatorProcedure
      .input(
        z.strictObject({ accountId: accountId.optional(), ...paging<ActionId>(200) }).default({ limit: 50 }),
      )
      .query(({ input }) =>
        accountAdmin.listActions(input.accountId ?? null, input.cursor ?? null, input.limit),
      ),
  });
}
