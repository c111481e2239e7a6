import { z } from "zod";
import type { KeyUuid } from "../keys/key.ts";
import type { Keys } from "../keys/keys.ts";
import { accountReader, router, userProcedure } from "./trpc.ts";

/** A label, shown in lists and logs: no characters that would break or disguise a line. */
const keyName = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(64, "must have at most 64 characters")
  .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must not hold control or invisible characters");

export interface KeyServices {
  readonly keys: Keys;
}

export function keysRouter({ keys }: KeyServices) {
  return router({
    list: accountReader.query(async ({ ctx }) => ({ keys: await keys.list(ctx.accountId) })),

    /** The only answer that ever holds the key string. */
    create: userProcedure
      .input(z.strictObject({ name: keyName }))
      .mutation(({ ctx, input }) => keys.create(ctx.account.id, input.name)),

    /** When this has answered, no node admits the key. */
    revoke: userProcedure
      .input(z.strictObject({ id: z.uuid() }))
      .mutation(({ ctx, input }) => keys.revoke(ctx.account.id, input.id as KeyUuid)),
  });
}
