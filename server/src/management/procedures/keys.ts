import * as z from "zod";
import type { AccountId } from "../../contract/account.ts";
import type { KeyUuid } from "../../contract/key.ts";
import type { Reader } from "../../database/reads.ts";
import type { Keys } from "../../keys/keys.ts";
import type { RpcServices } from "../rpc-services.ts";
import { accountProcedure, accountReadProcedure, router } from "../trpc.ts";
import { CURSOR, idempotencyKey, idOf, LIMIT, label, searchText, wholeNumber } from "./inputs.ts";

/** The id of the key, a UUID. Not its key ID. */
const id = idOf<KeyUuid>().describe("The id of the key, a UUID. Not its key ID.");
const DAY_S = 24 * 60 * 60;
const MAX_PAGE = 1_000;
const MAX_IDS = 100;
const MAX_ADDRESSES = 100;
const MAX_SEARCH_LENGTH = 64;

/** The `nextCursor` of a page of keys. */
const position = z
  .string()
  .max(64)
  .transform((text, context) => {
    const [state, after = ""] = text.split("~");
    const read = id.safeParse(after);
    if ((state === "active" || state === "revoked") && read.success) return { state, id: read.data } as const;
    context.addIssue({ code: "custom", message: "must be the nextCursor of the previous page" });
    return z.NEVER;
  });

/** The inputs of a page of keys. */
export const keysPage = {
  /** The `nextCursor` of the previous page. Omit it for the first page. */
  cursor: position.describe(CURSOR).optional(),
  /** The maximum number of keys of the page: 1 to 1,000. Default 1,000. */
  limit: wholeNumber(1, MAX_PAGE).describe(LIMIT).default(MAX_PAGE),
  search: searchText(MAX_SEARCH_LENGTH)
    .min(1, "must not be empty")
    .describe(
      "Lists keys whose name or key ID contains this text, upper and lower case alike: 1 to 64 characters.",
    )
    .optional(),
};

/** Reads a page of an account's keys. */
export async function readKeysPage(
  keys: Keys,
  accountId: AccountId,
  { cursor, limit, search }: z.output<z.ZodObject<typeof keysPage>>,
  reader: Reader,
) {
  const page = { after: cursor ?? null, limit, search: search ?? null };
  const { keys: found, next } = await keys.list(accountId, page, reader);
  return {
    /** The keys of the page. */
    keys: found,
    /** The `cursor` of the next page; `null` on the last page. */
    nextCursor: next === null ? null : `${next.state}~${next.id}`,
  };
}

export function keysRouter({ keys }: RpcServices) {
  return router({
    /**
     * Keys with their usage: active keys first, each state's newest first, at most 1,000. Pass `nextCursor` as `cursor` to read
     * the next page.
     */
    list: accountReadProcedure
      .input(z.strictObject(keysPage).prefault({}))
      .query(({ ctx, input }) => readKeysPage(keys, ctx.accountId, input, ctx.reader)),

    /** Some keys with their usage, in the order of the list. Keys that the account does not have are left out. */
    get: accountReadProcedure
      .input(
        z.strictObject({
          /** The ids of the keys: 1 to 100. */
          ids: z.array(id).min(1, "must not be empty").max(MAX_IDS, `must have at most ${MAX_IDS} ids`),
        }),
      )
      .query(async ({ ctx, input }) => ({
        /** The keys. */
        keys: await keys.get(ctx.accountId, input.ids, ctx.reader),
      })),

    /** How many keys the account has. */
    count: accountReadProcedure.query(({ ctx }) => keys.count(ctx.accountId, ctx.reader)),

    /** The present usage of a key, and how far its successor has taken over. */
    usage: accountReadProcedure
      .input(z.strictObject({ id }))
      .query(({ ctx, input }) => keys.usage(ctx.accountId, input.id, ctx.reader)),

    /** The addresses from which a key was used in the last 30 days, the latest first: at most 100. */
    addresses: accountReadProcedure.input(z.strictObject({ id })).query(async ({ ctx, input }) => ({
      /** The addresses. */
      addresses: await keys.addresses(ctx.accountId, input.id, MAX_ADDRESSES, ctx.reader),
    })),

    /** Creates a key. The answer contains the key string; it cannot be read again. */
    create: accountProcedure
      .input(
        z.strictObject({
          name: label.describe("A name that no other active key of the account has: 1 to 64 characters."),
          idempotencyKey: idempotencyKey.optional(),
        }),
      )
      .mutation(({ ctx, input }) =>
        keys.create(ctx.actor, ctx.accountId, input.name, input.idempotencyKey ?? null),
      ),

    /** Creates a successor of a key. The answer contains its key string; it cannot be read again. The old key works until it is revoked; `usage` reports when it is idle. */
    rotate: accountProcedure
      .input(
        z.strictObject({
          id,
          name: label
            .describe(
              "The name of the successor: 1 to 64 characters. Default: the name of the old key with a number.",
            )
            .optional(),
          idleAfterSeconds: wholeNumber(60, 30 * DAY_S)
            .describe(
              "Seconds without a request after which the old key counts as idle: 60 to 2,592,000 (30 days). Default 86,400 (a day).",
            )
            .default(DAY_S),
          idempotencyKey: idempotencyKey.optional(),
        }),
      )
      .mutation(({ ctx, input }) =>
        keys.rotate(ctx.actor, ctx.accountId, {
          id: input.id,
          name: input.name ?? null,
          idleAfterSeconds: input.idleAfterSeconds,
          idempotencyKey: input.idempotencyKey ?? null,
        }),
      ),

    /** Revokes a key. Once this has answered, no node admits the key. */
    revoke: accountProcedure
      .input(z.strictObject({ id }))
      .mutation(({ ctx, input }) => keys.revoke(ctx.actor, ctx.accountId, input.id)),
  });
}
