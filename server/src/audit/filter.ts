import * as z from "zod";
import { isUuid } from "../contract/ids.ts";
import { isKeyId, KEY_ID, type KeyUuid } from "../contract/key.ts";
import { RECORDABLE, RECORDABLE_ERROR } from "../contract/recorded-text.ts";
import { Failure } from "../errors/failure.ts";
import { databaseNetwork, parseNetworks } from "../networks/networks.ts";
import { periodEnd, periodStart } from "./time-bounds.ts";

/** Filters of audit entries. `null` matches every value. */
export interface EntryFilter {
  /** From this time on. */
  readonly from: Date | null;
  /** Before this time. */
  readonly to: Date | null;
  /** One key, by its id; or those with a key ID, which names one key of an account. */
  readonly key: { readonly id: KeyUuid } | { readonly keyId: string } | null;
  /** A model, or a {@link isPattern pattern}. */
  readonly model: string | null;
  /** The name of an upstream, or a {@link isPattern pattern}. */
  readonly upstream: string | null;
  /** A range of statuses; `error`: requests that failed, also those whose answer had begun with status 200. */
  readonly status: { readonly from: number; readonly to: number } | "error" | null;
  /** A code, or a {@link isPattern pattern}. */
  readonly errorCode: string | null;
  /** An address or CIDR block. */
  readonly source: string | null;
}

const text = z.string().min(1).max(256).regex(RECORDABLE, RECORDABLE_ERROR);

/** The filter's parameters, as in a query string. */
export const filterInput = {
  from: periodStart.optional(),
  to: periodEnd.optional(),
  key: z
    .string()
    .refine((value) => isUuid(value) || isKeyId(value), "must be a key's id, or a key ID of 4 characters")
    .describe("The id of a key, or its key ID: the last 4 characters of the key string.")
    .meta({
      anyOf: [
        { type: "string", format: "uuid" },
        { type: "string", pattern: KEY_ID.source },
      ],
    })
    .optional(),
  model: text
    .describe(
      "The catalog's id of a model, or a pattern in which `*` matches any characters: up to 256 characters.",
    )
    .optional(),
  upstream: text
    .describe(
      "The name of the upstream that answered or failed, or a pattern such as `openai-*`: up to 256 characters.",
    )
    .optional(),
  status: z
    .string()
    .regex(/^(?:error|[1-5](?:\d\d|xx))$/, "must be a status such as 404, a class such as 4xx, or error")
    .describe("A status such as `404`, a class such as `4xx`, or `error` for every request that failed.")
    .optional(),
  error_code: text
    .describe("An error code such as `rate_limit_exceeded`, or a pattern such as `upstream_*`.")
    .optional(),
  source: z
    .string()
    .trim()
    .refine((value) => parseNetworks([value]).problems.length === 0, "must be an IP address or a CIDR block")
    .overwrite(databaseNetwork)
    .describe("The address that requests came from: an IP address or a CIDR block.")
    .optional(),
};

/** Whether the text of a filter is a pattern: `*` matches any characters, upper and lower case alike. Any other text matches itself only. */
export function isPattern(text: string): boolean {
  return text.includes("*");
}

/** @throws {Failure} `invalid_request` when `to` is before `from`: an empty log would look like one without requests. */
export function filterOf(input: z.output<z.ZodObject<typeof filterInput>>): EntryFilter {
  if (input.from !== undefined && input.to !== undefined && input.to < input.from)
    throw new Failure("invalid_request", "to: must not be before the beginning of the period", {
      param: "to",
    });
  return {
    from: input.from ?? null,
    to: input.to ?? null,
    key: input.key === undefined ? null : keyOf(input.key),
    model: input.model ?? null,
    upstream: input.upstream ?? null,
    status: input.status === undefined ? null : statusOf(input.status),
    errorCode: input.error_code ?? null,
    source: input.source ?? null,
  };
}

/** The filter as parameters again, without the period. */
export function searchOf(filter: EntryFilter): Readonly<Record<string, string>> {
  const { key, model, upstream, status, errorCode, source } = filter;
  const given: Readonly<Record<Exclude<keyof typeof filterInput, "from" | "to">, string | null>> = {
    key: key === null ? null : keyText(key),
    model,
    upstream,
    status: status === null ? null : statusText(status),
    error_code: errorCode,
    source,
  };
  return Object.fromEntries(
    Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== null),
  );
}

function keyText(key: NonNullable<EntryFilter["key"]>): string {
  return "id" in key ? key.id : key.keyId;
}

function statusText(status: NonNullable<EntryFilter["status"]>): string {
  if (status === "error") return status;
  return status.from === status.to ? `${status.from}` : `${status.from / 100}xx`;
}

function keyOf(value: string): NonNullable<EntryFilter["key"]> {
  return isUuid(value) ? { id: value.toLowerCase() as KeyUuid } : { keyId: value };
}

function statusOf(value: string): NonNullable<EntryFilter["status"]> {
  if (value === "error") return value;
  if (!value.endsWith("xx")) return { from: Number(value), to: Number(value) };
  const first = Number(value.charAt(0)) * 100;
  return { from: first, to: first + 99 };
}
