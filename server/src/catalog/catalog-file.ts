import { z } from "zod";
import {
  DEFAULT_BREAKER,
  DEFAULT_MAX_CONCURRENCY,
  DEFAULT_TIMEOUTS,
  MODALITIES,
  TEXT_ONLY,
} from "./catalog.ts";
import { nanoUsdOf } from "./prices.ts";

// The shape of a catalog file. What crosses from one part of it to another is checked in load.ts.

const positive = z.number().int().positive();
const milliseconds = positive.max(3_600_000);

/** A number is taken as it was written, digit for digit, so that no price goes through a float. */
const usd = z.union([z.string(), z.number()]).transform((value, context) => {
  const nanoUsd = nanoUsdOf(String(value));
  if (nanoUsd !== null) return nanoUsd;
  context.addIssue({ code: "custom", message: 'must be a decimal number of USD such as "2.50"' });
  return z.NEVER;
});

const baseUrl = z.string().transform((value, context) => {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (
    url !== null &&
    (url.protocol === "https:" || url.protocol === "http:") &&
    url.search === "" &&
    url.hash === ""
  ) {
    if (url.username === "" && url.password === "") return value.replace(/\/+$/, "");
    context.addIssue({
      code: "custom",
      message: "must not contain a user name or password: use credentialEnv",
    });
    return z.NEVER;
  }
  context.addIssue({
    code: "custom",
    message: "must be an http(s) URL without query, such as https://api.example.com/v1",
  });
  return z.NEVER;
});

const timeouts = z
  .strictObject({
    connectMs: milliseconds.default(DEFAULT_TIMEOUTS.connectMs),
    firstByteMs: milliseconds.default(DEFAULT_TIMEOUTS.firstByteMs),
    idleMs: milliseconds.default(DEFAULT_TIMEOUTS.idleMs),
  })
  .default(DEFAULT_TIMEOUTS);

const breaker = z
  .strictObject({
    failures: positive.default(DEFAULT_BREAKER.failures),
    openMs: milliseconds.default(DEFAULT_BREAKER.openMs),
  })
  .default(DEFAULT_BREAKER);

/** How long to wait for an upstream, how much to ask of it at once, and when to leave it alone. */
const patience = { timeouts, maxConcurrency: positive.default(DEFAULT_MAX_CONCURRENCY), breaker };
const credential = {
  credentialEnv: z.string().min(1).optional(),
  credentialFile: z.string().min(1).optional(),
};
const packageName = z
  .string()
  .regex(/^(?:@[a-z0-9-]+\/)?[a-z0-9-]+$/, "must be the name of a package, such as @ai-sdk/mistral");

const upstream = z.discriminatedUnion("dialect", [
  z.strictObject({ dialect: z.literal("openai"), baseUrl, ...credential, ...patience }),
  z.strictObject({
    dialect: z.enum(["anthropic", "google"]),
    baseUrl: baseUrl.optional(),
    ...credential,
    ...patience,
  }),
  z.strictObject({
    dialect: z.literal("ai-sdk"),
    package: packageName,
    baseUrl: baseUrl.optional(),
    ...credential,
    ...patience,
  }),
  z.strictObject({ dialect: z.literal("sandbox"), timeouts }),
]);

const modelName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces");

const prices = z.strictObject({
  inputUsdPerMTok: usd,
  cachedInputUsdPerMTok: usd.optional(),
  outputUsdPerMTok: usd,
  /** For each image in a prompt, beside its tokens. */
  imageUsd: usd.optional(),
});

const modalities = z.array(z.enum(MODALITIES)).min(1);

const model = z.strictObject({
  id: modelName,
  aliases: z.array(modelName).default([]),
  ownedBy: z.string().min(1).default("unknown"),
  contextTokens: positive.optional(),
  maxOutputTokens: positive.optional(),
  modalities: z.strictObject({ input: modalities, output: modalities }).default({
    input: [...TEXT_ONLY.input],
    output: [...TEXT_ONLY.output],
  }),
  prices: prices.optional(),
  routes: z
    .array(
      z.strictObject({
        upstream: z.string(),
        model: z.string().min(1).optional(),
        weight: z.number().positive().max(1_000_000).default(1),
      }),
    )
    .min(1, "must have at least one route"),
});

export const catalogFile = z.strictObject({
  /** For editors. */
  $schema: z.string().optional(),
  upstreams: z.record(z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, "must be a short name"), upstream),
  models: z.array(model).min(1, "must have at least one model"),
});

/** A catalog file, read but not yet checked against itself and the machine. */
export type CatalogFile = z.output<typeof catalogFile>;
