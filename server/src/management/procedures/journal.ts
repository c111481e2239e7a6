import * as z from "zod";
import type { JournalRepair } from "../../journal/journal-repair.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { singleLine } from "./inputs.ts";

const MAX_LINES = 1_000;
/** Enough for the maximum number of ids. */
const MAX_IDS_BYTES = 32 * 1024;
/** A line may hold the answer to a request with an idempotency key. */
const MAX_REPLACEMENT_BYTES = 1024 * 1024;
/** The id of the line. */
const lineId = z.string().regex(/^[0-9a-f]{12}$/, "must be the id of a line, as the list shows it");
/** The ids of the lines, 1 to 1,000. */
const lineIds = z.array(lineId).min(1).max(MAX_LINES);

/**
 * Lines of the journal that could not be read or recorded, of the node that answers: each node has a journal of its own, in its
 * data folder. With several nodes these procedures are called at the node's own address.
 */
export function journalRouter(repair: JournalRepair) {
  return router({
    /** Lists the lines, with the beginning of each. */
    list: operatorProcedure
      .input(
        z
          .strictObject({
            /** The maximum number of lines: 1 to 1,000. Default 100. */
            limit: z.number().int().min(1).max(MAX_LINES).default(100),
          })
          .prefault({}),
      )
      .query(({ input }) => repair.list(input.limit)),

    /** One line, with up to 64 KiB of its text. */
    get: operatorProcedure.input(z.strictObject({ id: lineId })).query(({ input }) => repair.get(input.id)),

    /** Records and charges the requests of lines. */
    replay: operatorProcedure
      .meta({ maxInputBytes: MAX_REPLACEMENT_BYTES })
      .input(
        z
          .strictObject({
            /** The ids of the lines, 1 to 1,000. Default: all lines. */
            ids: lineIds.optional(),
            /** The corrected text of a line, whose id is the only one in `ids`. */
            replacement: z.string().optional(),
          })
          .refine(({ ids, replacement }) => replacement === undefined || ids?.length === 1, {
            message: "requires exactly one id in ids",
            path: ["replacement"],
          })
          .prefault({}),
      )
      .mutation(({ ctx, input }) =>
        repair.replay(ctx.actor, input.ids ?? null, input.replacement?.replace(/\r?\n$/, "") ?? null),
      ),

    /** Deletes lines without recording or charging their requests. */
    discard: operatorProcedure
      .meta({ maxInputBytes: MAX_IDS_BYTES })
      .input(
        z.strictObject({
          ids: lineIds,
          /** The reason, for the audit trail: 1 to 500 characters. */
          reason: singleLine(500),
        }),
      )
      .mutation(({ ctx, input }) => repair.discard(ctx.actor, input.ids, input.reason)),
  });
}
