import { z } from "zod";
import type { TokenUuid } from "../contract/ids.ts";
import { idOf, label } from "./inputs.ts";
import type { RpcServices } from "./router.ts";
import { router, sessionProcedure } from "./trpc.ts";

/** Management tokens. They require a session, so that a leaked token cannot mint its own successor. */
export function tokensRouter({ managementTokens }: RpcServices) {
  return router({
    list: sessionProcedure.query(async ({ ctx }) => ({ tokens: await managementTokens.list(ctx.user.id) })),

    /** The only answer that ever holds the token. */
    create: sessionProcedure
      .input(z.strictObject({ name: label, expiresInDays: z.number().int().min(1).max(3_650).optional() }))
      .mutation(({ ctx, input }) =>
        managementTokens.create(ctx.actor, ctx.sessionId, input.name, input.expiresInDays ?? null),
      ),

    /** Once this has answered, the token is refused. */
    revoke: sessionProcedure
      .input(z.strictObject({ id: idOf<TokenUuid>() }))
      .mutation(({ ctx, input }) => managementTokens.revoke(ctx.actor, input.id)),
  });
}
