import { z } from "zod";
import { parseAddress } from "../networks/networks.ts";
import { holdsSecret } from "../secrets/redact.ts";

/**
 * Words of people, shown in lists and logs: no characters that would break or disguise a line, and no key that was
 * pasted into the wrong field.
 */
export const words = (max: number) =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(max, `must have at most ${max} characters`)
    .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must not contain control or invisible characters")
    .refine((text) => !holdsSecret(text), "must not contain an API key or a management token");

/** The name of a key or token. */
export const label = words(64);

/** An IPv4 address in four decimal parts, or an IPv6 address. */
export const ipAddress = z
  .string()
  .trim()
  .refine((text) => parseAddress(text) !== null, "must be an IPv4 or IPv6 address");

/** Random, and of one call's own: a UUID for example. */
export const idempotencyKey = z
  .string()
  .min(8, "must have at least 8 characters")
  .max(255)
  .regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces");

/** The id of something, of the type that names what. */
export const idOf = <Id extends string>() =>
  z
    .string()
    .toLowerCase()
    .pipe(z.uuid())
    .transform((text) => text as Id);

/** What a page of a list is asked for with; `direction` is what tRPC's infinite queries send along. */
export const paging = <Id extends string>(maxLimit: number) => ({
  cursor: idOf<Id>().optional(),
  direction: z.literal("forward").optional(),
  limit: z.number().int().min(1).max(maxLimit).default(50),
});
