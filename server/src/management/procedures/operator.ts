import * as z from "zod";
import { keptHours } from "../../audit/audit-retention.ts";
import type { RpcServices } from "../rpc-services.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { emailInput } from "./auth.ts";
import { journalRouter } from "./journal.ts";
import { operatorAccountsRouter } from "./operator-accounts.ts";
import { operatorLogRouter } from "./operator-log.ts";
import { modelReads } from "./operator-models.ts";
import { operatorNodesRouter } from "./operator-nodes.ts";
import { serviceReports } from "./operator-reports.ts";
import { trailReads } from "./operator-trail.ts";
import { providersRouter } from "./providers.ts";

const MAX_RECONCILED_HOURS = 366 * 24;

/** Procedures for operators. Every change is recorded in the audit trail: see `audit`. */
export function operatorRouter(services: RpcServices) {
  const { plans, reads, reconciler, signIn } = services;
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
        .mutation(({ ctx, input }) => signIn.resetPassword(ctx.actor, input)),
    }),

    ...serviceReports(services),

    /** The audit log of all accounts. */
    log: operatorLogRouter(services),

    ...modelReads(services),

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
        reads.inOneSlice(ctx.reader, () => reconciler.check(Math.min(input.hours, keptHours(plans)))),
      ),

    /** Lines of the answering node's journal that could not be read or recorded. */
    journal: journalRouter(services.journalRepair),

    ...trailReads(services),
  });
}
