import * as z from "zod";
import { requireNetworks } from "../../accounts/account-admin.ts";
import type { AccountChange, IpRuleChange } from "../../accounts/account-change.ts";
import { type AccountId, type IpRules, PLANS } from "../../contract/account.ts";
import type { Actor } from "../../contract/action.ts";
import { digestOf } from "../../secrets/digest.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure } from "../trpc.ts";
import { accountId, accountLimit, idempotencyKey, ipAddress, reason } from "./inputs.ts";

const MAX_NETWORKS = 1_000;
/** Enough for the maximum number of networks, each with up to 64 characters. */
const MAX_RULES_BYTES = 128 * 1024;
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

/** What operators change of an account. */
export function accountChanges({ accountAdmin, credits }: RpcServices) {
  /** Resolves when the change is in force on every node. */
  const change = (
    actor: Actor,
    { id, reason = null }: { readonly id: AccountId; readonly reason?: string | null | undefined },
    what: AccountChange,
  ) => accountAdmin.change(actor, id, what, reason);
  return {
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
            requestsPerMinute: accountLimit.optional(),
            /** Tokens of prompts and answers in 60 seconds. */
            tokensPerMinute: accountLimit.optional(),
            /** Requests that may be answered at the same time. */
            concurrentRequests: accountLimit.optional(),
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
        credits.forgetShortage(id);
        return granted;
      }),
  };
}
