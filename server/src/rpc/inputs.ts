import { z } from "zod";
import { parseAddress } from "../access/networks.ts";

/** A label, shown in lists and logs: no characters that would break or disguise a line. */
export const label = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(64, "must have at most 64 characters")
  .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must not hold control or invisible characters");

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
