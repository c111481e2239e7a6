import * as z from "zod";
import { requireNetworks } from "../accounts/account-admin.ts";
import type { AccountChange, IpRuleChange } from "../accounts/account-change.ts";
import { ACCOUNT_ORDERS } from "../accounts/account-list.ts";
import { ACCOUNT_STATES, type AccountId, type IpRules, PLANS } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import { digestOf } from "../secrets/digest.ts";
import { entryPage, readEntriesPage } from "./audit.ts";
import { accountNameInput, emailInput } from "./auth.ts";
import { CURSOR, idempotencyKey, idOf, ipAddress, paging, searchText, singleLine } from "./inputs.ts";
import { keysPage, readKeysPage } from "./keys.ts";
import type { RpcServices } from "./router.ts";
import { operatorProcedure, router } from "./trpc.ts";
import { groupBy, spanInput, spanOf } from "./usage.ts";

/** The id of the account. */
export const accountId = idOf<AccountId>();
/** The reason, for the audit trail: 1 to 500 characters. */
export const reason = singleLine(500);
/** The beginning of a name or of a user's e-mail address, an id, or the last four characters of a key: up to 254 characters. Default: all accounts. */
const accountSearch = searchText(254).default("");
const MAX_NETWORKS = 1_000;
/** Enough for the maximum number of networks, each with up to 64 characters. */
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

/**
 * What operators may read of an account, in the form and within the bounds in which its users read it. The audit trail does not
 * record these reads: they return neither key strings nor the content of requests.
 */
function accountReads({ auditLog, keys, usage }: RpcServices) {
  return {
    /** The keys of an account, in the form of `keys.list`. */
    keys: operatorProcedure
      .input(
        z.strictObject({
          id: accountId,
          ...keysPage,
          /** Has no effect. Infinite queries of TanStack Query send it. */
          direction: z.literal("forward").optional(),
        }),
      )
      .query(({ ctx, input }) => readKeysPage(keys, input.id, input, ctx.reader)),

    /** The usage of an account, in the form of `usage.summary`. */
    usage: operatorProcedure
      .input(z.strictObject({ id: accountId, ...spanInput, groupBy }))
      .query(({ ctx, input: { id, ...question } }) => usage.summary(id, spanOf(question), ctx.reader)),

    /** How fast the requests of an account were answered, in the form of `usage.performance`. */
    performance: operatorProcedure
      .input(z.strictObject({ id: accountId, ...spanInput }))
      .query(({ ctx, input: { id, ...span } }) => usage.performance(id, spanOf(span), ctx.reader)),

    /** The entries of an account's audit log, newest first, in the form of `audit.list`. */
    entries: operatorProcedure
      .input(z.strictObject({ id: accountId, ...entryPage }))
      .query(({ ctx, input }) => readEntriesPage(auditLog, input.id, input, ctx.reader)),
  };
}

/** Procedures for the accounts of the service. */
export function operatorAccountsRouter(services: RpcServices) {
  const { accountAdmin, credits, reads } = services;
  /** Resolves when the change is in force on every node. */
  const change = (
    actor: Actor,
    { id, reason = null }: { readonly id: AccountId; readonly reason?: string | null | undefined },
    what: AccountChange,
  ) => accountAdmin.change(actor, id, what, reason);
  return router({
    /** Accounts, newest first or in another order. */
    list: operatorProcedure
      .input(
        z
          .strictObject({
            search: accountSearch,
            /** The state of the accounts. Default: any. */
            state: z.enum(ACCOUNT_STATES).optional(),
            /** The plan of the accounts. Default: any. */
            plan: z.enum(PLANS).optional(),
            /**
             * What the accounts are sorted by: `created`, their `balance`, or their `cost` or `requests` of the last 30 days. A balance or usage
             * that changes while you read pages may leave its account out or repeat it. Default `created`.
             */
            order: z.enum(ACCOUNT_ORDERS).default("created"),
            /** Whether the oldest or the lowest are first. Default `false`: the newest or the highest are. */
            ascending: z.boolean().default(false),
            ...paging(),
            /** The `nextCursor` of the previous page, which had the same filters and order. Omit it for the first page. */
            cursor: z.string().max(64).describe(CURSOR).optional(),
          })
          .prefault({}),
      )
      .query(({ ctx, input: { state = null, plan = null, cursor = null, ...listing } }) =>
        reads.inOneSlice(ctx.reader, () => accountAdmin.list({ ...listing, state, plan, cursor })),
      ),

    /** One account. */
    get: operatorProcedure
      .input(z.strictObject({ id: accountId }))
      .query(({ ctx, input }) => reads.inOneSlice(ctx.reader, () => accountAdmin.get(input.id))),

    ...accountReads(services),

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
          /**
           * A value that is unique to this grant: 8 to 255 characters. A call that is repeated with it is booked once, and gets the first
           * answer again.
           */
          idempotencyKey: idempotencyKey.optional(),
        }),
      )
      .mutation(async ({ ctx, input: { id, idempotencyKey: key, ...grant } }) => {
        const idempotencyKeyDigest = key === undefined ? null : digestOf(key);
        const granted = await accountAdmin.grantCredits({
          ...grant,
          by: ctx.actor,
          accountId: id,
          idempotencyKeyDigest,
        });
        credits.granted(id);
        return granted;
      }),
  });
}
