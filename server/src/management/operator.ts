import * as z from "zod";
import { SECURITY_EVENT_KINDS } from "../../../sdk/src/contract/security-words.ts";
import { ACCOUNT_ORDERS, requireNetworks } from "../accounts/account-admin.ts";
import type { AccountChange, IpRuleChange } from "../accounts/account-change.ts";
import { filterInput } from "../audit/filter.ts";
import { ACCOUNT_STATES, type AccountId, type IpRules, PLANS } from "../contract/account.ts";
import { ACTION_NAMES, type ActionId, type Actor } from "../contract/action.ts";
import type { SpenderId } from "../contract/ids.ts";
import type { Plans } from "../contract/plans.ts";
import { Failure } from "../errors/failure.ts";
import { actionChainReads, exportInput, verificationInput } from "./action-chain.ts";
import { accountNameInput, emailInput } from "./auth.ts";
import { idOf, ipAddress, paging, words } from "./inputs.ts";
import { journalRouter } from "./journal.ts";
import { operatorAccountReads } from "./operator-accounts.ts";
import { operatorLogRouter } from "./operator-log.ts";
import { providersRouter, testUpstream } from "./providers.ts";
import type { RpcServices } from "./router.ts";
import { operatorProcedure, router } from "./trpc.ts";
import { spanInput, spanOf } from "./usage.ts";

/** The id of the account. */
const accountId = idOf<AccountId>();
/** The reason, for the audit trail: 1 to 500 characters. */
const reason = words(500);
/** The beginning of a name or of a user's e-mail address, an id, or the last four characters of a key: up to 254 characters. Default: all accounts. */
const searchText = z
  .string()
  .max(254)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, "must not contain control characters")
  .default("");
const MAX_NETWORKS = 1_000;
/** Of that many networks, each with up to 64 characters. */
const MAX_RULES_BYTES = 128 * 1024;
const limit = z.number().int().min(1).max(1_000_000_000).nullable();
/** 9 million USD: what a bigint column holds, with room to add. */
const MAX_GRANT_NANO_USD = 9_000_000_000_000_000n;

/** IPv4 and IPv6 addresses and CIDR blocks: up to 1,000. Empty: requests from every address pass. */
const networks = z.array(z.string().trim().max(64)).max(MAX_NETWORKS);
const ipRuleMode = z.enum(["enforce", "report"]);
const ipRuleChange = z
  .strictObject({
    /** `enforce` refuses requests from other addresses; `report` lets them pass and marks their entries. Default: the current mode. */
    mode: ipRuleMode.nullable().default(null),
    networks,
  })
  .transform((rules): IpRuleChange => ({ ...rules, networks: requireNetworks(rules.networks) }));
const ipRules = z
  .strictObject({
    /** `enforce` refuses requests from other addresses; `report` lets them pass and marks their entries. Default `enforce`. */
    mode: ipRuleMode.default("enforce"),
    networks,
  })
  .transform((rules): IpRules => ({ ...rules, networks: requireNetworks(rules.networks) }));

/** The `id` of the node in the list. */
const spenderId = z
  .bigint()
  .min(1n)
  .max(2n ** 63n - 1n)
  .transform((id) => id as SpenderId);

const MAX_RECONCILED_HOURS = 366 * 24;

/** Entries older than the shortest retention are deleted, so older usage cannot be compared with them. */
export function checkableHours(plans: Plans): number {
  const days = Object.values(plans).map(
    ({ auditRetentionDays }) => auditRetentionDays ?? Number.POSITIVE_INFINITY,
  );
  return Math.min(...days) * 24 - 1;
}

/** Procedures for operators. Every change is recorded in the audit trail: see `audit`. */
export function operatorRouter(services: RpcServices) {
  const { accountAdmin, catalog, credits, plans, reads, spenders } = services;
  const read = <Result>(part: () => Promise<Result>) => reads.whole("operators", (parts) => parts.run(part));
  const chained = actionChainReads(accountAdmin.actionChain, reads);
  /** Resolves when the change is in force on every node. */
  const change = (
    actor: Actor,
    { id, reason = null }: { readonly id: AccountId; readonly reason?: string | null | undefined },
    what: AccountChange,
  ) => accountAdmin.change(actor, id, what, reason);
  return router({
    /** Dangerous settings that this node was started with: a sentence or two each. */
    warnings: operatorProcedure.query(() => ({
      /** The warnings. Empty: there are none. */
      warnings: services.warnings,
    })),
    /** The state of the node that answers: version, stores, records, clock and breakers. */
    status: operatorProcedure.query(() => services.status()),
    /** The accounts of the service. */
    accounts: router({
      /** Accounts, newest first or by their usage of the last 30 days. */
      list: operatorProcedure
        .input(
          z
            .strictObject({
              search: searchText,
              /** The state of the accounts. Default: any. */
              state: z.enum(ACCOUNT_STATES).optional(),
              /** The plan of the accounts. Default: any. */
              plan: z.enum(PLANS).optional(),
              /**
               * `created`: the newest first. `cost` and `requests`: those with most in the last 30 days first, without further
               * pages. Default `created`.
               */
              order: z.enum(ACCOUNT_ORDERS).default("created"),
              ...paging<AccountId>(),
            })
            .prefault({}),
        )
        .query(async ({ input: { search, state = null, plan = null, order, cursor = null, limit } }) => {
          const filter = { search, state, plan };
          if (order === "created") return accountAdmin.list(filter, cursor, limit);
          const accounts = await read(() => accountAdmin.listByUsage(filter, order, limit));
          return { accounts, nextCursor: null };
        }),

      /** One account. */
      get: operatorProcedure
        .input(z.strictObject({ id: accountId }))
        .query(({ input }) => accountAdmin.get(input.id)),

      ...operatorAccountReads(services),

      /** Creates an account with its first user, also while sign-up is closed. The answer contains the first user's password; it cannot be read again. */
      create: operatorProcedure
        .input(
          z.strictObject({
            /** The e-mail address of the first user: up to 254 characters. */
            email: emailInput,
            accountName: accountNameInput,
            /** The plan. Default `free`. */
            plan: z.enum(PLANS).default("free"),
          }),
        )
        .mutation(({ ctx, input }) => accountAdmin.create(ctx.actor, input)),

      /** Suspends an account. Once this has answered, every node refuses the keys and management tokens of the account. */
      suspend: operatorProcedure
        .input(z.strictObject({ id: accountId, reason }))
        .mutation(({ ctx, input }) =>
          change(ctx.actor, input, { action: "account.suspend", reason: input.reason }),
        ),

      /** Ends the suspension of an account. */
      reinstate: operatorProcedure
        .input(z.strictObject({ id: accountId, reason: reason.optional() }))
        .mutation(({ ctx, input }) => change(ctx.actor, input, { action: "account.reinstate" })),

      /** Sets the plan. Existing keys stay, even if the new plan allows fewer. `notices` lists other effects of the change. */
      setPlan: operatorProcedure
        .input(
          z.strictObject({
            id: accountId,
            /** The new plan. */
            plan: z.enum(PLANS),
            reason: reason.optional(),
          }),
        )
        .mutation(({ ctx, input }) =>
          change(ctx.actor, input, { action: "account.setPlan", plan: input.plan }),
        ),

      /** Replaces the IP rules, which are in force on the enterprise plan. */
      setIpRules: operatorProcedure
        .meta({ maxInputBytes: MAX_RULES_BYTES })
        .input(
          z.strictObject({
            id: accountId,
            /** The new rules. */
            rules: ipRuleChange,
            reason: reason.optional(),
          }),
        )
        .mutation(({ ctx, input }) =>
          change(ctx.actor, input, { action: "account.setIpRules", ipRules: input.rules }),
        ),

      /** Tests an address against the account's rules, or against `rules` before they are set. */
      tryIpRules: operatorProcedure
        .meta({ maxInputBytes: MAX_RULES_BYTES })
        .input(
          z.strictObject({
            id: accountId,
            /** The address to test. */
            address: ipAddress,
            /** The rules to test it against. Default: those of the account. */
            rules: ipRules.optional(),
          }),
        )
        .query(async ({ input }) => ({
          /** `passes`; `blocked`: it would be refused; `reported`: it would pass and be marked, as the rules are in report mode. */
          verdict: await accountAdmin.tryIpRules(input.id, input.address, input.rules ?? null),
        })),

      /** Sets limits of the account's own. */
      setLimits: operatorProcedure
        .input(
          z.strictObject({
            id: accountId,
            /** Limits to set: 1 to 1,000,000,000 each. `null` uses the plan's limit; one that is absent stays as it is. */
            limits: z.strictObject({
              /** Requests in 60 seconds. */
              requestsPerMinute: limit.optional(),
              /** Tokens of prompts and answers in 60 seconds. */
              tokensPerMinute: limit.optional(),
              /** Requests that may be answered at the same time. */
              concurrentRequests: limit.optional(),
            }),
            reason: reason.optional(),
          }),
        )
        .mutation(({ ctx, input }) =>
          change(ctx.actor, input, { action: "account.setLimits", limits: input.limits }),
        ),

      /** Grants credit. A negative amount takes credit back, at most what the account has. */
      grantCredits: operatorProcedure
        .input(
          z.strictObject({
            id: accountId,
            /** The amount in nano-USD: not 0, and at most 9 million USD either way. */
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
        .mutation(async ({ ctx, input: { id, amountNanoUsd, reason } }) => {
          const granted = await accountAdmin.grantCredits(ctx.actor, id, amountNanoUsd, reason);
          credits.granted(id);
          return granted;
        }),
    }),

    /** The users of accounts. */
    users: router({
      /**
       * Sets a new random password and ends the user's sessions. Revokes their management tokens too, unless `keepTokens` is
       * set. The answer contains the password; it cannot be read again.
       */
      resetPassword: operatorProcedure
        .input(
          z.strictObject({
            /** The e-mail address of the user. */
            email: emailInput,
            /** Whether the user's management tokens stay valid. Default `false`. */
            keepTokens: z.boolean().default(false),
          }),
        )
        .mutation(({ ctx, input }) =>
          services.signIn.resetPassword(ctx.actor, input.email, input.keepTokens),
        ),
    }),

    /**
     * Usage of all accounts, in the form of `usage.summary`. The 50 accounts, or 200 models, with the highest cost in the
     * period have rows of their own. All others share one row per interval (`isOther`).
     */
    usage: operatorProcedure
      .input(
        z.strictObject({
          ...spanInput,
          /** What has rows of its own in each interval. Default `none`. */
          groupBy: z.enum(["none", "model", "account"]).default("none"),
        }),
      )
      .query(({ input }) => services.usage.serviceSummary(spanOf(input))),

    /** The audit log of all accounts. */
    log: operatorLogRouter(services),

    /** How fast the requests of all accounts were answered, in the form of `usage.performance`. */
    performance: operatorProcedure
      .input(z.strictObject(spanInput))
      .query(({ input }) => services.usage.performance(null, spanOf(input), "operators")),

    /**
     * How each upstream answered the requests of all accounts, by interval: latency, time to first token, and errors by code. Measures the
     * newest 20,000 entries of the period.
     */
    upstreamHistory: operatorProcedure
      .input(z.strictObject(spanInput))
      .query(({ input }) => services.usage.upstreamHistory(spanOf(input))),

    /**
     * Security events, last seen first. Events of one hour that agree in every field are one row with a count. Events that
     * other nodes have seen in the last seconds may be missing. An event that recurs while pages are read moves to the front.
     */
    security: operatorProcedure
      .input(
        z
          .strictObject({
            /** The kind of the events. Default: any. */
            kind: z.enum(SECURITY_EVENT_KINDS).optional(),
            /** The id of the account. Default: events of all accounts and of none. */
            accountId: accountId.optional(),
            source: filterInput.source,
            ...paging(),
            /** The `nextCursor` of the previous page. Omit it for the first page. */
            cursor: z.string().max(64).optional(),
          })
          .prefault({}),
      )
      .query(({ input: { kind = null, accountId: account = null, source = null, cursor = null, limit } }) =>
        services.securityLog.list({ kind, accountId: account, source }, cursor, limit),
      ),

    /** Health of each upstream, as this node sees it. */
    upstreams: operatorProcedure.query(() => ({
      /** The upstreams of the catalog. */
      upstreams: services.gateway.health(),
    })),

    /** Checks an upstream of the catalog with its credential. */
    testUpstream: testUpstream(services),

    /** The current catalog with its routes, without credentials. */
    catalog: operatorProcedure.query(() => ({
      /** The models, in the order of the catalog. */
      models: catalog.models,
      /** The upstreams that serve them. */
      upstreams: [...catalog.upstreams.values()].map(
        ({ credential, settings: _, isSandbox: __, ...upstream }) => ({
          ...upstream,
          /** Whether the service sends a credential. */
          hasCredential: credential !== null,
        }),
      ),
    })),

    /** Connecting providers of models. */
    providers: providersRouter(services),

    /** The nodes of the service, as far as they reserve credit. */
    nodes: router({
      /**
       * The nodes that hold reserved credit: a row for each start of a node. The row of a node that has ended stays until the
       * node is started again or its credit is released.
       */
      list: operatorProcedure.query(async () => ({
        /** The nodes. */
        nodes: await spenders.list(),
      })),

      /**
       * Releases the credit that a node has reserved, when the node will not return. If it returns after all, its pending
       * charges are collected as far as the accounts' credit reaches; the rest is recorded as uncollected.
       */
      release: operatorProcedure
        .input(z.strictObject({ id: spenderId, reason }))
        .mutation(async ({ ctx, input }) => {
          const released = await spenders.release(input.id, input.reason, ctx.actor);
          if (released === null) {
            throw new Failure(
              "not_found",
              "No such node exists. Call `operator.nodes.list` to find its id.",
              {
                param: "id",
              },
            );
          }
          return released;
        }),
    }),

    /** Reconciliation: compares balances with ledgers and usage with audit entries, and reports reserved credit. */
    checkBooks: operatorProcedure
      .input(
        z
          .strictObject({
            /** The past hours of usage to compare: 1 to 8,784, and at most the shortest retention of all plans. Default 24. */
            hours: z.number().int().min(1).max(MAX_RECONCILED_HOURS).default(24),
          })
          .prefault({}),
      )
      .query(({ input }) =>
        read(() => services.reconciler.check(Math.min(input.hours, checkableHours(plans)))),
      ),

    /** Lines of the answering node's journal that could not be read or recorded. */
    journal: journalRouter(services.journalRepair),

    /** The audit trail of one account or of all, newest first. Each filter that is given must match. */
    audit: operatorProcedure
      .input(
        z
          .strictObject({
            /** The id of the account. Default: all accounts. */
            accountId: accountId.optional(),
            /** The change. Default: any. */
            action: z.enum(ACTION_NAMES).optional(),
            /** The beginning of the e-mail address of the author: 1 to 254 characters. Default: any. */
            author: words(254).optional(),
            /** The address of the author, or a CIDR block. Default: any. */
            source: filterInput.source,
            /** A part of the reason or the beginning of the account's name: 1 to 200 characters. Default: any. */
            search: words(200).optional(),
            ...paging<ActionId>(),
          })
          .prefault({}),
      )
      .query(({ input: { cursor = null, limit, ...filter } }) =>
        read(() => accountAdmin.listActions(filter, cursor, limit)),
      ),

    /** The whole audit trail as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    exportActions: operatorProcedure
      .input(z.strictObject(exportInput).prefault({}))
      .query(({ input }) => chained.lines("operators", null, input)),

    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    verifyActions: operatorProcedure
      .input(z.strictObject(verificationInput).prefault({}))
      .query(({ input }) => chained.verify("operators", null, input)),
  });
}
