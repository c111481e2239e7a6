import { closestMatch } from "leven";
import * as z from "zod";
import {
  DEFAULT_BREAKER,
  DEFAULT_MAX_CONCURRENCY,
  DEFAULT_TIMEOUTS,
  MODALITIES,
  type Upstream,
} from "./catalog.ts";
import { nanoUsdOf } from "./prices.ts";

// The schema of a catalog file. load-catalog.ts checks references between its parts.

const MAX_TYPING_ERRORS = 4;

/** An object with these fields and no others. Messages name its fields, or the one that was probably meant. */
function fields<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code === "invalid_type" && issue.input !== undefined)
        return `must be an object with the fields ${known.join(", ")}`;
      if (issue.code !== "unrecognized_keys") return undefined;
      return (issue.keys as string[])
        .map((key) => `has an unknown field: ${key}. ${meantBy(key, known)}`)
        .join("; ");
    },
  });
}

function meantBy(key: string, known: readonly string[]): string {
  const meant = closestMatch(key, known, {
    maxDistance: Math.min(MAX_TYPING_ERRORS, Math.floor(key.length / 2)),
  });
  return meant === undefined ? `Its fields are ${known.join(", ")}` : `Did you mean ${meant}?`;
}

const positive = z.number().int().positive();
const milliseconds = positive.max(3_600_000);

/** Prices are converted digit by digit, without floating point. */
const usd = z.union([z.string(), z.number()]).transform((value, context) => {
  const nanoUsd = nanoUsdOf(String(value));
  if (nanoUsd !== null) return nanoUsd;
  context.addIssue({ code: "custom", message: 'must be a decimal number of USD such as "2.50"' });
  return z.NEVER;
});

const baseUrl = z.string().transform((value, context) => {
  // Line breaks would be dropped, which makes one host of two lines.
  const url = URL.canParse(value) && !/[\t\r\n]/.test(value) ? new URL(value) : null;
  const isHttp = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "";
  if (isHttp && url.username === "" && url.password === "") return value.replace(/\/+$/, "");
  const message = isHttp
    ? "must not contain a user name or password: use credentialEnv"
    : "must be an http(s) URL without query, such as https://api.example.com/v1";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const timeouts = fields({
  connectMs: milliseconds.default(DEFAULT_TIMEOUTS.connectMs),
  firstByteMs: milliseconds.default(DEFAULT_TIMEOUTS.firstByteMs),
  idleMs: milliseconds.default(DEFAULT_TIMEOUTS.idleMs),
  totalMs: positive.max(86_400_000).default(DEFAULT_TIMEOUTS.totalMs),
}).default(DEFAULT_TIMEOUTS);

const breaker = fields({
  failures: positive.default(DEFAULT_BREAKER.failures),
  openMs: milliseconds.default(DEFAULT_BREAKER.openMs),
}).default(DEFAULT_BREAKER);

/** The settings of upstreams that are reached over HTTP. */
export const UPSTREAM_SETTINGS = {
  baseUrl,
  credentialEnv: z.string().min(1).optional(),
  credentialFile: z.string().min(1).optional(),
  timeouts,
  maxConcurrency: positive.default(DEFAULT_MAX_CONCURRENCY),
  breaker,
};

/** The part of a dialect that the catalog uses. */
export interface DialectSettings {
  /** As a catalog file names it. */
  readonly name: string;
  /** The schema of an upstream's settings. Settings that the catalog does not know belong to the dialect. */
  readonly settings: z.ZodRawShape;
  /** Whether its upstreams are simulated: their models are free, and their failures do not count. */
  readonly isSandbox?: boolean;
  /** Fixed values of an upstream that are not settings. */
  readonly fixed?: Partial<Pick<Upstream, "baseUrl" | "maxConcurrency">>;
}

/** An upstream of a catalog file. */
export interface UpstreamEntry
  extends Partial<Pick<Upstream, "baseUrl" | "maxConcurrency" | "breaker" | "timeouts">> {
  readonly dialect: string;
  readonly credentialEnv?: string;
  readonly credentialFile?: string;
  readonly [own: string]: unknown;
}

const modelName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces");

const prices = fields({
  inputUsdPerMTok: usd,
  cachedInputUsdPerMTok: usd.optional(),
  cacheWriteUsdPerMTok: usd.optional(),
  cacheWrite1hUsdPerMTok: usd.optional(),
  audioInputUsdPerMTok: usd.optional(),
  imageInputUsdPerMTok: usd.optional(),
  outputUsdPerMTok: usd,
  reasoningUsdPerMTok: usd.optional(),
  audioOutputUsdPerMTok: usd.optional(),
  imageOutputUsdPerMTok: usd.optional(),
  /** For each image in a prompt, beside its tokens. */
  imageUsd: usd.optional(),
});

const modalities = z.array(z.enum(MODALITIES)).min(1);

const model = fields({
  id: modelName,
  aliases: z.array(modelName).default([]),
  ownedBy: z.string().min(1).default("unknown"),
  contextTokens: positive.optional(),
  maxOutputTokens: positive.optional(),
  modalities: fields({ input: modalities, output: modalities }).default({
    input: ["text"],
    output: ["text"],
  }),
  prices: prices.optional(),
  routes: z
    .array(
      fields({
        upstream: z.string(),
        model: z.string().min(1).optional(),
        weight: z.number().positive().max(1_000_000).default(1),
      }),
    )
    .min(1, "must have at least one route"),
});

/** The schema of a catalog file whose upstreams speak these dialects. */
export function catalogFileOf(dialects: readonly DialectSettings[]) {
  const [first, ...others] = dialects.map(({ name, settings }) =>
    fields({ dialect: z.literal(name), ...settings }),
  );
  if (first === undefined) throw new Error("there is no dialect");
  const upstream = z.discriminatedUnion("dialect", [first, ...others]);
  return fields({
    /** For editors. */
    $schema: z.string().optional(),
    upstreams: z.record(z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, "must be a short name"), upstream),
    models: z.array(model).min(1, "must have at least one model"),
  });
}

/** A catalog file, read but not yet checked against itself and the machine. */
export type CatalogFile = Omit<z.output<ReturnType<typeof catalogFileOf>>, "upstreams"> & {
  readonly upstreams: Readonly<Record<string, UpstreamEntry>>;
};

/** The JSON Schema of a catalog file, for editors. */
export function catalogJsonSchema(dialects: readonly DialectSettings[]): object {
  const schema = z.toJSONSchema(catalogFileOf(dialects), { io: "input", target: "draft-7" });
  return {
    ...schema,
    title: "Catalog of models and upstreams",
    description: "See docs/reference/catalog.md.",
  };
}
