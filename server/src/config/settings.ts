import { resolve } from "node:path";
import * as z from "zod";
import { disablesTls } from "./database-parameters.ts";
import { fileVariableOf } from "./secret-files.ts";
import {
  certificates,
  databaseUrl,
  flag,
  headers,
  host,
  isOrigin,
  networks,
  noProxy,
  oneOf,
  origins,
  proxy,
  redisUrl,
  resourceAttributes,
  sealKeys,
  url,
  wholeNumber,
  workers,
} from "./setting-values.ts";

/** V8 has no longer text, so a longer body could not be read. */
const MAX_TEXT_BYTES = 536_870_888;
const ALMOST_PRODUCTION =
  "must be production, in full and in lower case. With any other value the service creates a demo account and reads a file .env";
const SERVICE_NAME = /^[A-Za-z][A-Za-z0-9 _-]{0,39}$/;

/**
 * Every setting: its variable, what is accepted, and its default; `null` where there is none. Names of times and sizes carry their
 * unit. docs/reference/configuration.md describes what each does.
 */
const variables = z.object({
  HOST: host.default("127.0.0.1"),
  PORT: wholeNumber(0, 65_535).default(8080),
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  OSTIARY_DATA_DIR: z
    .string()
    .default("./data")
    .transform((path) => resolve(path)),
  DATABASE_URL: databaseUrl.nullable().default(null),
  DATABASE_CA_FILE: certificates.nullable().default(null),
  REDIS_URL: redisUrl.nullable().default(null),
  REDIS_CA_FILE: certificates.nullable().default(null),
  OSTIARY_REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_:.-]{1,64}$/, "must be 1 to 64 letters, digits, _ : . or -")
    .default("ostiary"),
  OSTIARY_OPERATOR_EMAIL: z.email("must be an e-mail address").max(254).optional(),
  OSTIARY_OPERATOR_PASSWORD: z.string().min(10, "must have at least 10 characters").max(200).optional(),
  OSTIARY_CATALOG: z.string().optional(),
  OSTIARY_LOCAL_MODELS: flag.default(true),
  OSTIARY_PLANS: z.string().optional(),
  OSTIARY_MIGRATE: flag.default(true),
  OSTIARY_WORKERS: workers.default("1"),
  OSTIARY_TAKE_OVER: flag.default(false),
  OSTIARY_DEMO: flag.default(true),
  OSTIARY_SIGNUP: oneOf(["open", "closed"]).default("open"),
  TRUSTED_PROXIES: networks.default([]),
  OSTIARY_PUBLIC_URL: url("http:", "https:")
    .refine(isOrigin, "must have a scheme, a host and a port only, such as https://ostiary.example.com")
    .optional(),
  OSTIARY_ALLOWED_ORIGINS: origins.default([]),
  OSTIARY_METRICS_FROM: networks.default(["127.0.0.0/8", "::1"]),
  OSTIARY_METRICS_PORT: wholeNumber(1, 65_535).nullable().default(null),
  AUDIT_DURABILITY: oneOf(["journal", "disk", "database"]).default("journal"),
  OSTIARY_MAX_BODY_BYTES: wholeNumber(1_024, MAX_TEXT_BYTES).default(20_971_520),
  OSTIARY_MAX_UNFINISHED_BODY_BYTES: wholeNumber(1_048_576, 68_719_476_736).optional(),
  OSTIARY_MAX_CONNECTIONS: wholeNumber(10, 1_000_000).default(10_000),
  OSTIARY_KEEP_ALIVE_S: wholeNumber(5, 3_600).default(65),
  OSTIARY_DRAIN_S: wholeNumber(0, 3_600).default(30),
  OSTIARY_CREDIT_RELEASE_AFTER_S: wholeNumber(0, 31_536_000)
    .refine((value) => value === 0 || value >= 600, "must be 0, or at least 600")
    .default(86_400),
  OSTIARY_RESPONSES_TTL_DAYS: wholeNumber(0, 3_650).default(30),
  OSTIARY_RESPONSES_KEY: sealKeys.default([]),
  OSTIARY_PRESTOP_S: wholeNumber(0, 300).optional(),
  OSTIARY_LOG: oneOf(["debug", "info", "warn", "error", "silent"]).optional(),
  OSTIARY_ACCESS_LOG: flag.default(false),
  OSTIARY_SERVICE_NAME: z
    .string()
    .regex(SERVICE_NAME, "must begin with a letter and have at most 40 letters, digits, spaces, - or _")
    .default("Ostiary"),
  HTTPS_PROXY: proxy.nullable().default(null),
  HTTP_PROXY: proxy.nullable().default(null),
  NO_PROXY: noProxy.default([]),
  OTEL_EXPORTER_OTLP_ENDPOINT: url("http:", "https:").optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url("http:", "https:").optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional(),
  OTEL_SERVICE_NAME: z.string().max(255, "must have at most 255 characters").optional(),
  OTEL_RESOURCE_ATTRIBUTES: resourceAttributes.optional(),
  NODE_ENV: z
    .string()
    .refine((value) => value === "production" || !/^prod/i.test(value), ALMOST_PRODUCTION)
    .optional(),
});

/**
 * Settings that contain a secret. Each may be in a file, whose path is in the variable of the same name with `_FILE`. The log shows
 * where a URL of these leads, and nothing else of them.
 */
export const SECRETS: readonly (keyof typeof variables.shape)[] = [
  "DATABASE_URL",
  "REDIS_URL",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "OSTIARY_OPERATOR_PASSWORD",
  "OSTIARY_RESPONSES_KEY",
  "OTEL_EXPORTER_OTLP_HEADERS",
];

/** Settings that most programs read, and prefer, in lower case. */
export const ALSO_IN_LOWER_CASE: readonly (keyof typeof variables.shape)[] = [
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "NO_PROXY",
];

/** The values of the settings, by their variables. */
export type SettingValues = z.output<typeof variables>;

/** A problem with a combination. It is reported together with those of single variables. */
const problemOf = (name: string, message: string) => ({ path: [name], message, when: () => true });

const together = (name: keyof SettingValues, other: keyof SettingValues) =>
  [
    (values: SettingValues) => values[name] !== undefined || values[other] === undefined,
    problemOf(name, `must be set together with ${other}`),
  ] as const;

const WORKERS_NEED =
  "needs DATABASE_URL and REDIS_URL, because each worker is a node of its own, and nodes share both. Set them, or OSTIARY_WORKERS=1";

/** The names of all variables that are read, those of the files of secrets included. */
export const SETTING_NAMES: readonly string[] = [
  ...Object.keys(variables.shape),
  ...SECRETS.map(fileVariableOf),
];

/** The settings together: single values and their combinations. */
export const settings = variables
  .refine(...together("OSTIARY_OPERATOR_EMAIL", "OSTIARY_OPERATOR_PASSWORD"))
  .refine(...together("OSTIARY_OPERATOR_PASSWORD", "OSTIARY_OPERATOR_EMAIL"))
  .refine(
    ({ OSTIARY_MAX_UNFINISHED_BODY_BYTES: unfinished, OSTIARY_MAX_BODY_BYTES: body }) =>
      typeof unfinished !== "number" || typeof body !== "number" || unfinished >= 2 * body,
    problemOf("OSTIARY_MAX_UNFINISHED_BODY_BYTES", "must be at least twice OSTIARY_MAX_BODY_BYTES"),
  )
  .refine(
    ({ OSTIARY_METRICS_PORT: metrics, PORT: port }) => metrics !== port,
    problemOf("OSTIARY_METRICS_PORT", "must be another port than PORT"),
  )
  .refine(...together("TLS_CERT_FILE", "TLS_KEY_FILE"))
  .refine(...together("TLS_KEY_FILE", "TLS_CERT_FILE"))
  .refine(
    ({ TLS_CERT_FILE: cert, OSTIARY_PUBLIC_URL: url }) =>
      cert === undefined || typeof url !== "string" || !url.startsWith("http:"),
    problemOf("OSTIARY_PUBLIC_URL", "must begin with https:// if TLS_CERT_FILE is set"),
  )
  .refine(
    ({ DATABASE_CA_FILE: ca, DATABASE_URL: url }) => typeof ca !== "string" || url !== null,
    problemOf("DATABASE_CA_FILE", "must be set together with DATABASE_URL"),
  )
  .refine(
    ({ DATABASE_CA_FILE: ca, DATABASE_URL: url }) =>
      typeof ca !== "string" || typeof url !== "string" || !disablesTls(url),
    problemOf(
      "DATABASE_CA_FILE",
      "must not be set together with a DATABASE_URL that turns TLS off. Remove one",
    ),
  )
  .refine(
    ({ REDIS_CA_FILE: ca, REDIS_URL: url }) => typeof ca !== "string" || url?.startsWith("rediss"),
    problemOf("REDIS_CA_FILE", "must be set together with a REDIS_URL that begins with rediss://"),
  )
  .refine(
    ({ OSTIARY_WORKERS: count, DATABASE_URL, REDIS_URL }) =>
      !workers.safeParse(count).success || count === "1" || (DATABASE_URL != null && REDIS_URL != null),
    problemOf("OSTIARY_WORKERS", WORKERS_NEED),
  );
