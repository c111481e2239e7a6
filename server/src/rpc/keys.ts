import { z } from "zod";
import type { KeyUuid } from "../keys/key.ts";
import type { Keys } from "../keys/keys.ts";
import { idempotencyKey, idOf, label } from "./inputs.ts";
import { accountProcedure, accountReader, router } from "./trpc.ts";

const id = idOf<KeyUuid>();
const DAY_S = 24 * 60 * 60;

export interface KeyServices {
  readonly keys: Keys;
}

export function keysRouter({ keys }: KeyServices) {
  return router({
    /** With who uses them, and from where. */
    list: accountReader.query(async ({ ctx }) => ({ keys: await keys.list(ctx.accountId, ctx.reader) })),

    /** Who uses one key, now; and how far its successor has taken over. */
    usage: accountReader
      .input(z.strictObject({ id }))
      .query(({ ctx, input }) => keys.usage(ctx.accountId, input.id, ctx.reader)),

    /** The only answer, beside that of `rotate`, that ever holds the key string. */
    create: accountProcedure
      .input(z.strictObject({ name: label, idempotencyKey: idempotencyKey.optional() }))
      .mutation(({ ctx, input }) =>
        keys.create(ctx.actor, ctx.accountId, input.name, input.idempotencyKey ?? null),
      ),

    /** Creates a successor. The old key works until it is revoked; `usage` tells when nobody uses it any more. */
    rotate: accountProcedure
      .input(
        z.strictObject({
          id,
          name: label.optional(),
          quietAfterS: z
            .number()
            .int()
            .min(60)
            .max(30 * DAY_S)
            .default(DAY_S),
          idempotencyKey: idempotencyKey.optional(),
        }),
      )
      .mutation(({ ctx, input }) =>
        keys.rotate(ctx.actor, ctx.accountId, {
          id: input.id,
          name: input.name ?? null,
          quietAfterS: input.quietAfterS,
          idempotencyKey: input.idempotencyKey ?? null,
        }),
      ),

    /** When this has answered, no node admits the key. */
    revoke: accountProcedure
      .input(z.strictObject({ id }))
      .mutation(({ ctx, input }) => keys.revoke(ctx.actor, ctx.accountId, input.id)),
  });
}
