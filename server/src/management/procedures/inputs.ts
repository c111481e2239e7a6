import * as z from "zod";
import type { AccountId } from "../../contract/account.ts";
import { RECORDABLE, RECORDABLE_ERROR } from "../../contract/recorded-text.ts";
import { parseAddress } from "../../networks/networks.ts";
import { holdsSecret } from "../../secrets/redact.ts";
import { joinersAreNeeded, withoutComposedEmoji } from "./needed-joiners.ts";

const UNREADABLE = "must not contain control or invisible characters";
/** Emoji, keycaps, and Chinese and Mongolian letters have variants, which a selector behind them chooses. */
const VARIED = "\\p{Extended_Pictographic}|[0-9#*](?=\\ufe0f\\u20e3)|\\p{Script=Han}|\\p{Script=Mongolian}";
/** Characters that fonts do not show, such as fillers, blanks and selectors of variants that do not exist, in whichever class Unicode has them. */
const UNSEEN = new RegExp(
  [
    "(?![\\u200c\\u200d\\p{Variation_Selector}])[\\p{Default_Ignorable_Code_Point}\\p{Cf}\\u2800]",
    `(?<!${VARIED})\\p{Variation_Selector}`,
  ].join("|"),
  "u",
);
/** Of the characters that {@link String.normalize} puts together to one: a Greek letter and three marks. */
const MAX_PARTS = 4;

/**
 * Text by people that lists and logs show. It must not contain characters that break or disguise a line, or a key that was
 * pasted into the wrong field.
 */
export const singleLine = (max: number) =>
  normalized(max)
    .trim()
    .min(1, "must not be empty")
    // The checks below take long for a long text.
    .max(max, tooLong(max))
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, UNREADABLE)
    .refine((text) => isReadable(withoutComposedEmoji(text)), UNREADABLE)
    .refine((text) => !holdsSecret(text), "must not contain an API key or a management token");

function isReadable(text: string): boolean {
  return joinersAreNeeded(text) && !UNSEEN.test(text);
}

/** A text that is looked for in such lines: up to `max` characters. */
export const searchText = (max: number) =>
  normalized(max).trim().max(max, tooLong(max)).regex(RECORDABLE, RECORDABLE_ERROR);

/**
 * Two texts that look the same must not differ by how their letters are put together, or by their spaces: pages show several as one, and all kinds alike.
 * The text may still have more than `max` characters.
 */
function normalized(max: number) {
  // To normalize combining characters takes the square of their number.
  return z
    .string()
    .max(MAX_PARTS * max, tooLong(max))
    .normalize()
    .overwrite((text) => text.replace(/\p{Zs}+/gu, " "));
}

function tooLong(max: number) {
  return { error: `must have at most ${max} characters`, abort: true } as const;
}

/** The reason, for the audit trail: 1 to 500 characters. */
export const reason = singleLine(500);

/** A name for people: 1 to 64 characters. */
export const label = singleLine(64);

/** An IPv4 address in four decimal parts, or an IPv6 address. */
export const ipAddress = z
  .string()
  .trim()
  .refine((text) => parseAddress(text) !== null, "must be an IPv4 or IPv6 address");

/** A whole number from `min` to `max`. */
export const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, error).max(max, error);
};

/** A limit on the requests or tokens of an account: 1 to 1,000,000,000. What `null` stands for is up to its user. */
export const accountLimit = z.number().int().min(1).max(1_000_000_000).nullable();

/** A position in a chain of digests; 0: before its beginning. */
export const chainPosition = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** A SHA-256 digest: 64 hexadecimal digits in lower case. */
export const sha256Digest = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 digest in hexadecimal");

/** A random value that is unique to one call, for example a UUID. */
export const idempotencyKey = z
  .string()
  .min(8, "must have at least 8 characters")
  .max(255)
  .regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces")
  .describe(
    "A random value for this request: 8 to 255 characters. Repeated with it within 24 hours, the request creates no second key.",
  );

/** A UUID, typed as an id of its kind. */
export const idOf = <Id extends string>() =>
  z
    .string()
    .toLowerCase()
    .pipe(z.uuid("must be an id, which is a UUID"))
    .transform((text) => text as Id)
    .meta({ format: "uuid" });

/** The id of the account. */
export const accountId = idOf<AccountId>();

/** The descriptions of the inputs of paged lists. */
export const CURSOR = "The cursor of the next page, from the answer with the previous page.";
export const LIMIT = "The maximum number of rows of the page.";

const MAX_PAGE = 200;

/** Has no effect. Infinite queries of TanStack Query send it. */
export const direction = z.literal("forward").optional();

/** The inputs of a paged list. */
export const paging = <Id extends string>() => ({
  /** The `nextCursor` of the previous page. Omit it for the first page. */
  cursor: idOf<Id>().describe(CURSOR).optional(),
  direction,
  /** The maximum number of rows of the page: 1 to 200. Default 50. */
  limit: wholeNumber(1, MAX_PAGE).describe(LIMIT).default(50),
});
