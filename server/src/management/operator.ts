import * as z from "zod";
import { SECURITY_EVENT_KINDS } from "../../../sdk/src/contract/security-event-kinds.ts";
import { filterInput } from "../audit/filter.ts";
import { ACTION_NAMES, type ActionId } from "../contract/action.ts";
import type { Plans } from "../contract/plans.ts";
import { actionChainReads, exportInput, verificationInput } from "./action-chain.ts";
import { emailInput } from "./auth.ts";
import { paging, singleLine } from "./inputs.ts";
import { journalRouter } from "./journal.ts";
import { accountId, operatorAccountsRouter } from "./operator-accounts.ts";
import { operatorLogRouter } from "./operator-log.ts";
import { operatorNodesRouter } from "./operator-nodes.ts";
import { providersRouter, testUpstream } from "./providers.ts";
import type { RpcServices } from "./router.ts";
import { operatorProcedure, router } from "./trpc.ts";
import { spanInput, spanOf } from "./usage.ts";

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
  const { accountAdmin, catalog, plans, reads } = services;
  const chained = actionChainReads(accountAdmin.actionChain, reads);
  return router({
    /** Dangerous settings that this node was started with: a sentence or two each. */
    warnings: operatorProcedure.query(() => ({
      /** The warnings. Empty: there are none. */
      warnings: services.warnings,
    })),
    /** The state of the node that answers: version, stores, records, clock and breakers. */
    status: operatorProcedure.query(() => services.status()),
    /** The accounts of the service. */
    accounts: operatorAccountsRouter(services),

    /** The users of accounts. */
    users: router({
      /**
       * Sets a new random password and ends the user's sessions. Revokes their management tokens too, unless `revokeTokens` is
       * `false`. The answer contains the password; it cannot be read again.
       */
      resetPassword: operatorProcedure
        .input(
          z.strictObject({
            /** The e-mail address of the user. */
            email: emailInput,
            /** Whether the user's management tokens are revoked, too. Default `true`. */
            revokeTokens: z.boolean().default(true),
          }),
        )
        .mutation(({ ctx, input }) => services.signIn.resetPassword(ctx.actor, input)),
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
      .query(({ ctx, input }) => services.usage.serviceSummary(spanOf(input), ctx.reader)),

    /** The audit log of all accounts. */
    log: operatorLogRouter(services),

    /** How fast the requests of all accounts were answered, in the form of `usage.performance`. */
    performance: operatorProcedure
      .input(z.strictObject(spanInput))
      .query(({ ctx, input }) => services.usage.performance(null, spanOf(input), ctx.reader)),

    /**
     * How each upstream answered the requests of all accounts, by interval: latency, time to first token, and errors by code. Measures the
     * newest 20,000 entries of the period.
     */
    upstreamHistory: operatorProcedure
      .input(z.strictObject(spanInput))
      .query(({ ctx, input }) => services.usage.upstreamHistory(spanOf(input), ctx.reader)),

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
      .query(
        ({ ctx, input: { kind = null, accountId: account = null, source = null, cursor = null, limit } }) =>
          reads.inOneSlice(ctx.reader, () =>
            services.securityLog.list({ kind, accountId: account, source }, cursor, limit),
          ),
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
    nodes: operatorNodesRouter(services),

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
      .query(({ ctx, input }) =>
        reads.inOneSlice(ctx.reader, () =>
          services.reconciler.check(Math.min(input.hours, checkableHours(plans))),
        ),
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
            author: singleLine(254).optional(),
            /** The address of the author, or a CIDR block. Default: any. */
            source: filterInput.source,
            /** A part of the reason or the beginning of the account's name: 1 to 200 characters. Default: any. */
            search: singleLine(200).optional(),
            ...paging<ActionId>(),
          })
          .prefault({}),
      )
      .query(({ ctx, input: { cursor = null, limit, ...filter } }) =>
        reads.inOneSlice(ctx.reader, () => accountAdmin.listActions(filter, cursor, limit)),
      ),

    /** The whole audit trail as lines of an export, oldest first, with its chain. Pass `next` as `after` to continue. */
    exportActions: operatorProcedure
      .input(z.strictObject(exportInput).prefault({}))
      .query(({ ctx, input }) => chained.lines(ctx.reader, null, input)),

    /** Detects actions that were changed, removed or added. A call covers some thousand: pass `next` as `after` to continue. */
    verifyActions: operatorProcedure
      .input(z.strictObject(verificationInput).prefault({}))
      .query(({ ctx, input }) => chained.verify(ctx.reader, null, input)),
  });
}
