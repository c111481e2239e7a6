import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { closestMatch } from "leven";
import { z } from "zod";
import { parseNetworks } from "../networks/networks.ts";
import { SEAL_KEY_BYTES } from "../secrets/sealer.ts";
import { parseRedisUrl, RedisUrlError } from "./redis-url.ts";

/** Everything that is wrong with the environment, a line for each variable. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

const url = (...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`,
  });

const redisUrl = z.string().superRefine((value, context) => {
  try {
    parseRedisUrl(value);
  } catch (error) {
    if (!(error instanceof RedisUrlError)) throw error;
    context.addIssue({ code: "custom", message: error.message });
  }
});

const wholeNumber = (from: number, to: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${from} to ${to}`)
    .transform(Number)
    .refine((value) => value >= from && value <= to, `must be a whole number from ${from} to ${to}`);

const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(", ")}` });

const MAX_WORKERS = 256;

const workers = z
  .string()
  .refine(
    (value) => value === "auto" || (/^[1-9]\d{0,2}$/.test(value) && Number(value) <= MAX_WORKERS),
    `must be auto, or a whole number from 1 to ${MAX_WORKERS}`,
  );

const flag = oneOf(["0", "1"]).transform((value) => value === "1");

/** CIDR blocks, separated by commas. */
const networks = z
  .string()
  .transform((value) => value.split(",").map((part) => part.trim()))
  .transform((parts) => parts.filter((part) => part !== ""))
  .superRefine((parts, context) => {
    for (const problem of parseNetworks(parts).problems)
      context.addIssue({ code: "custom", message: problem });
  });

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const HEX_KEY = new RegExp(`^[0-9A-Fa-f]{${2 * SEAL_KEY_BYTES}}$`);

/** Keys for encryption, separated by commas. The message of a problem never contains a key. */
const sealKeys = z.string().transform((value, context): readonly Uint8Array[] => {
  const keys = value.split(",").map((part) => sealKeyOf(part.trim()));
  const valid = keys.filter((key) => key !== null);
  if (valid.length === keys.length) return valid;
  const message = `must be ${SEAL_KEY_BYTES} random bytes in base64 or hex, or several such keys separated by commas. \`openssl rand -base64 ${SEAL_KEY_BYTES}\` prints one`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

function sealKeyOf(text: string): Uint8Array | null {
  if (HEX_KEY.test(text)) return Buffer.from(text, "hex");
  const bytes = BASE64.test(text) ? Buffer.from(text, "base64") : Buffer.of();
  return bytes.length === SEAL_KEY_BYTES ? bytes : null;
}

const DEFAULT_UNFINISHED_BODY_BYTES = 256 * 1024 * 1024;
const PRESTOP_BEHIND_PROXY_S = 5;
const SERVICE_NAME = /^[A-Za-z][A-Za-z0-9 _-]{0,39}$/;

/**
 * Every setting: its variable, what is accepted, and its default; `null` where there is none. Names of times and sizes carry their
 * unit. docs/reference/configuration.md describes what each does.
 */
const variables = z.object({
  HOST: z.string().default("127.0.0.1"),
  PORT: wholeNumber(0, 65_535).default(8080),
  OSTIARY_DATA_DIR: z
    .string()
    .default("./data")
    .transform((path) => resolve(path)),
  DATABASE_URL: url("postgres:", "postgresql:").nullable().default(null),
  REDIS_URL: redisUrl.nullable().default(null),
  OSTIARY_REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_:.-]{1,64}$/, "must be 1 to 64 letters, digits, _ : . or -")
    .default("ostiary"),
  OSTIARY_OPERATOR_EMAIL: z.email("must be an e-mail address").max(254).optional(),
  OSTIARY_OPERATOR_PASSWORD: z.string().min(10, "must have at least 10 characters").max(200).optional(),
  OSTIARY_CATALOG: z.string().optional(),
  OSTIARY_LOCAL_MODELS: flag.default(true),
  OSTIARY_PLANS: z.string().optional(),
  OSTIARY_WORKERS: workers.default("1"),
  OSTIARY_TAKE_OVER: flag.default(false),
  OSTIARY_DEMO: flag.default(true),
  OSTIARY_SIGNUP: oneOf(["open", "closed"]).default("open"),
  TRUSTED_PROXIES: networks.default([]),
  OSTIARY_PUBLIC_URL: url("http:", "https:").optional(),
  OSTIARY_METRICS_FROM: networks.default(["127.0.0.0/8", "::1"]),
  AUDIT_DURABILITY: oneOf(["journal", "disk", "database"]).default("journal"),
  OSTIARY_MAX_BODY_BYTES: wholeNumber(1_024, 1_073_741_824).default(20_971_520),
  OSTIARY_MAX_UNFINISHED_BODY_BYTES: wholeNumber(1_048_576, 68_719_476_736).optional(),
  OSTIARY_MAX_CONNECTIONS: wholeNumber(10, 1_000_000).default(10_000),
  OSTIARY_DRAIN_S: wholeNumber(0, 3_600).default(30),
  OSTIARY_CREDIT_RELEASE_AFTER_S: wholeNumber(0, 31_536_000)
    .refine((value) => value === 0 || value >= 600, "must be 0, or at least 600")
    .default(86_400),
  OSTIARY_RESPONSES_TTL_DAYS: wholeNumber(0, 3_650).default(30),
  OSTIARY_RESPONSES_KEY: sealKeys.default([]),
  OSTIARY_PRESTOP_S: wholeNumber(0, 300).optional(),
  OSTIARY_LOG: oneOf(["debug", "info", "warn", "error", "silent"]).default("info"),
  OSTIARY_SERVICE_NAME: z
    .string()
    .regex(SERVICE_NAME, "must begin with a letter and have at most 40 letters, digits, spaces, - or _")
    .default("Ostiary"),
  OTEL_EXPORTER_OTLP_ENDPOINT: url("http:", "https:").optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url("http:", "https:").optional(),
  NODE_ENV: z.string().optional(),
});

/** A problem with a combination. It is reported together with those of single variables. */
const problemOf = (name: string, message: string) => ({ path: [name], message, when: () => true });

const WORKERS_NEED =
  "needs DATABASE_URL and REDIS_URL, because each worker is a node of its own, and nodes share both. Set them, or OSTIARY_WORKERS=1";

const checkedVariables = variables
  .refine(
    ({ OSTIARY_OPERATOR_EMAIL: email, OSTIARY_OPERATOR_PASSWORD: password }) =>
      password === undefined || email !== undefined,
    problemOf("OSTIARY_OPERATOR_EMAIL", "must be set together with OSTIARY_OPERATOR_PASSWORD"),
  )
  .refine(
    ({ OSTIARY_OPERATOR_EMAIL: email, OSTIARY_OPERATOR_PASSWORD: password }) =>
      email === undefined || password !== undefined,
    problemOf("OSTIARY_OPERATOR_PASSWORD", "must be set together with OSTIARY_OPERATOR_EMAIL"),
  )
  .refine(
    ({ OSTIARY_MAX_UNFINISHED_BODY_BYTES: unfinished, OSTIARY_MAX_BODY_BYTES: body }) =>
      typeof unfinished !== "number" || typeof body !== "number" || unfinished >= 2 * body,
    problemOf("OSTIARY_MAX_UNFINISHED_BODY_BYTES", "must be at least twice OSTIARY_MAX_BODY_BYTES"),
  )
  .refine(
    ({ OSTIARY_WORKERS: count, DATABASE_URL, REDIS_URL }) =>
      count === undefined || count === "1" || (DATABASE_URL != null && REDIS_URL != null),
    problemOf("OSTIARY_WORKERS", WORKERS_NEED),
  );

const MAX_TYPING_ERRORS = 3;

/** Variables of the SDK, which may be set in the same environment. */
const SDK_VARIABLES = new Set(["OSTIARY_API_KEY", "OSTIARY_BASE_URL", "OSTIARY_MANAGEMENT_TOKEN"]);

/** The checked settings. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Checks the environment. An empty variable counts as absent, as in most `.env` files.
 *
 * @throws {ConfigError} naming every variable that is wrong, not only the first.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const present = Object.fromEntries(
    Object.entries(environment)
      .map(([name, value]) => [name, value?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ""),
  );
  const parsed = checkedVariables.safeParse(present);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`));
  }
  const values = parsed.data;
  return {
    host: values.HOST,
    port: values.PORT,
    dataDir: values.OSTIARY_DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    redisPrefix: values.OSTIARY_REDIS_PREFIX,
    /** Created at start unless a user with this address exists. */
    firstOperator: operatorOf(values.OSTIARY_OPERATOR_EMAIL, values.OSTIARY_OPERATOR_PASSWORD),
    localModels: values.OSTIARY_LOCAL_MODELS,
    /** The number of processes that share the port. */
    workers: values.OSTIARY_WORKERS === "auto" ? availableParallelism() : Number(values.OSTIARY_WORKERS),
    takeOver: values.OSTIARY_TAKE_OVER,
    // A production database must never get an account whose password was printed on a terminal.
    demo: values.NODE_ENV !== "production" && values.OSTIARY_DEMO,
    signUp: values.OSTIARY_SIGNUP,
    trustedProxies: values.TRUSTED_PROXIES,
    /** Scheme, host and port, without a trailing slash. `null`: the address on which the service listens. */
    publicUrl: values.OSTIARY_PUBLIC_URL === undefined ? null : new URL(values.OSTIARY_PUBLIC_URL).origin,
    /** Whether traces are exported. The exporter reads its own variables. */
    traces: (values.OTEL_EXPORTER_OTLP_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) !== undefined,
    metricsFrom: values.OSTIARY_METRICS_FROM,
    auditDurability: values.AUDIT_DURABILITY,
    maxBodyBytes: values.OSTIARY_MAX_BODY_BYTES,
    /** The limit on all request bodies that are being received or wait for admission: several of the maximum size. */
    maxUnfinishedBodyBytes:
      values.OSTIARY_MAX_UNFINISHED_BODY_BYTES ??
      Math.max(DEFAULT_UNFINISHED_BODY_BYTES, 4 * values.OSTIARY_MAX_BODY_BYTES),
    maxConnections: values.OSTIARY_MAX_CONNECTIONS,
    drainS: values.OSTIARY_DRAIN_S,
    /** The reserved credit of a node without a heartbeat for this long is released; 0: never. */
    creditReleaseAfterS: values.OSTIARY_CREDIT_RELEASE_AFTER_S,
    /** How long responses are stored; 0: none is stored. */
    responsesTtlDays: values.OSTIARY_RESPONSES_TTL_DAYS,
    /** Keys that stored responses are encrypted with: the first encrypts, all decrypt. Empty: the installation's own. */
    responsesKeys: values.OSTIARY_RESPONSES_KEY,
    /** How long requests are still served after SIGTERM. A proxy needs a moment to notice that the node is not ready. */
    prestopS: values.OSTIARY_PRESTOP_S ?? (values.TRUSTED_PROXIES.length > 0 ? PRESTOP_BEHIND_PROXY_S : 0),
    logLevel: values.OSTIARY_LOG,
    serviceName: values.OSTIARY_SERVICE_NAME,
    /** Warnings about dangerous combinations of settings. */
    warnings: isOpenWithoutTls(values) ? [NO_TLS] : [],
    /** Messages about variables that look like settings but are none. */
    unknownSettings: unknownSettings(present),
  };
}

const NO_TLS =
  "The service listens beyond this machine without TLS: keys, passwords and prompts cross the network in the clear. Put a proxy that terminates TLS in front of it, and set TRUSTED_PROXIES to the proxy and OSTIARY_PUBLIC_URL to the public address, or set HOST=127.0.0.1.";

function isOpenWithoutTls(values: z.output<typeof variables>): boolean {
  const isLoopback = values.HOST === "localhost" || values.HOST === "::1" || /^127\./.test(values.HOST);
  const isBehindTls =
    values.TRUSTED_PROXIES.length > 0 || values.OSTIARY_PUBLIC_URL?.startsWith("https:") === true;
  return !isLoopback && !isBehindTls;
}

/** A line for each variable that looks like a setting but is none, with the closest setting. */
export function unknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const known = Object.keys(variables.shape);
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith("OSTIARY_") || known.includes(name) || SDK_VARIABLES.has(name)) return [];
    const meant = closestMatch(name, known, { maxDistance: MAX_TYPING_ERRORS });
    return [
      meant === undefined
        ? `${name}: is not a setting of this service`
        : `${name}: is not a setting of this service. Did you mean ${meant}?`,
    ];
  });
}

function operatorOf(email: string | undefined, password: string | undefined) {
  return email === undefined || password === undefined ? null : { email, password };
}
