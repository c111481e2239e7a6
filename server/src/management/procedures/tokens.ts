import * as z from "zod";
import type { TokenUuid } from "../../contract/ids.ts";
import type { RpcServices } from "../rpc-services.ts";
import { router, sessionProcedure } from "../trpc.ts";
import { idOf, label } from "./inputs.ts";

/** Management tokens. They require a session, so that a leaked token cannot mint its own successor. */
export function tokensRouter({ managementTokens }: RpcServices) {
  return router({
    /** The user's management tokens, those in use first. */
    list: sessionProcedure.query(async ({ ctx }) => ({
      /** Up to 1,000 tokens. */
      tokens: await managementTokens.list(ctx.user.id),
    })),

    /** Creates a management token. The answer contains the token; it cannot be read again. */
    create: sessionProcedure
      .input(
        z.strictObject({
          /** The name of the token: 1 to 64 characters. */
          name: label,
          /** The days until the token expires: 1 to 3,650. Default: it does not expire. */
          expiresInDays: z.number().int().min(1).max(3_650).optional(),
        }),
      )
      .mutation(({ ctx, input }) =>
        managementTokens.create(ctx.actor, ctx.sessionId, input.name, input.expiresInDays ?? null),
      ),

    /** Revokes a token. Once this has answered, the token is refused. */
    revoke: sessionProcedure
      .input(
        z.strictObject({
          /** The id of the token. */
          id: idOf<TokenUuid>(),
        }),
      )
      .mutation(({ ctx, input }) => managementTokens.revoke(ctx.actor, input.id)),
  });
}
