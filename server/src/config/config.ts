import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { closestMatch } from "leven";
import * as z from "zod";
import { messageOf } from "../errors/issue-message.ts";
import { fileVariableOf, withSecretsFromFiles } from "./secret-files.ts";
import {
  certificates,
  databaseUrl,
  flag,
  host,
  isOrigin,
  networks,
  oneOf,
  origins,
  redisUrl,
  sealKeys,
  url,
  wholeNumber,
  workers,
} from "./setting-values.ts";

/** Everything that is wrong with the environment, a line for each variable. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

const PRESTOP_BEHIND_PROXY_S = 5;
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
  OSTIARY_LOG: oneOf(["debug", "info", "warn", "error", "silent"]).optional(),
  OSTIARY_ACCESS_LOG: flag.default(false),
  OSTIARY_SERVICE_NAME: z
    .string()
    .regex(SERVICE_NAME, "must begin with a letter and have at most 40 letters, digits, spaces, - or _")
    .default("Ostiary"),
  OTEL_EXPORTER_OTLP_ENDPOINT: url("http:", "https:").optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url("http:", "https:").optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  NODE_ENV: z.string().optional(),
});

/**
 * Settings that contain a secret. Each may be in a file, whose path is in the variable of the same name with `_FILE`. The log shows
 * where a URL of these leads, and nothing else of them.
 */
const SECRETS: readonly (keyof typeof variables.shape)[] = [
  "DATABASE_URL",
  "REDIS_URL",
  "OSTIARY_OPERATOR_PASSWORD",
  "OSTIARY_RESPONSES_KEY",
  "OTEL_EXPORTER_OTLP_HEADERS",
];

type Values = z.output<typeof variables>;

/** A problem with a combination. It is reported together with those of single variables. */
const problemOf = (name: string, message: string) => ({ path: [name], message, when: () => true });

const together = (name: keyof Values, other: keyof Values) =>
  [
    (values: Values) => values[name] !== undefined || values[other] === undefined,
    problemOf(name, `must be set together with ${other}`),
  ] as const;

const WORKERS_NEED =
  "needs DATABASE_URL and REDIS_URL, because each worker is a node of its own, and nodes share both. Set them, or OSTIARY_WORKERS=1";

const checkedVariables = variables
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
    ({ REDIS_CA_FILE: ca, REDIS_URL: url }) => typeof ca !== "string" || url?.startsWith("rediss"),
    problemOf("REDIS_CA_FILE", "must be set together with a REDIS_URL that begins with rediss://"),
  )
  .refine(
    ({ OSTIARY_WORKERS: count, DATABASE_URL, REDIS_URL }) =>
      count === undefined || count === "1" || (DATABASE_URL != null && REDIS_URL != null),
    problemOf("OSTIARY_WORKERS", WORKERS_NEED),
  );

const PREFIX = "OSTIARY_";
const MAX_TYPING_ERRORS = 3;
/** A name may have one typing error for each of this many letters, not counting its prefix. Names with more are not taken for misspelt. */
const LETTERS_PER_TYPING_ERROR = 3;

/**
 * Settings without the prefix whose misspelt names would be noticed late: the service would use the bundled database, or believe no proxy. Their
 * names may have a typing error for each of this many letters: variables of other programs have similar names, such as DATABASE_USER.
 */
const COMMON_SETTINGS = [
  ...["DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE"],
  ...["TRUSTED_PROXIES", "AUDIT_DURABILITY", "TLS_CERT_FILE", "TLS_KEY_FILE"],
];
const COMMON_LETTERS_PER_TYPING_ERROR = 5;

/** Variables of the SDK and of the operator's command line, which may be set in the same environment. */
const CLIENT_VARIABLES = new Set([
  "OSTIARY_API_KEY",
  "OSTIARY_BASE_URL",
  "OSTIARY_MANAGEMENT_TOKEN",
  fileVariableOf("OSTIARY_MANAGEMENT_TOKEN"),
]);

const NO_TLS =
  "The service listens beyond this machine without TLS: keys, passwords and prompts cross the network in the clear. Set TLS_CERT_FILE and TLS_KEY_FILE, or put a proxy that terminates TLS in front of it, and set TRUSTED_PROXIES to the proxy and OSTIARY_PUBLIC_URL to the public address, or set HOST=127.0.0.1.";

const EVERY_PROXY =
  "TRUSTED_PROXIES has a block of every address, so the service cannot tell proxies from clients: a client may choose the address that IP rules, limits on sign-in and the audit log see. Set it to the addresses of the proxies.";

const QUOTED = /^(["']).*\1$/s;

const QUOTED_PASSWORD =
  "OSTIARY_OPERATOR_PASSWORD begins and ends with a quotation mark. Both are part of the password. Remove them if they are not meant to be.";

/**
 * Settings whose quotation marks are part of the value, as `docker run --env-file` keeps them. A password may begin and end with one.
 *
 * @param values of settings, and paths of the files of secrets.
 */
function quotedSettings(values: Readonly<Record<string, string | undefined>>): readonly string[] {
  return [...Object.keys(variables.shape), ...SECRETS.map(fileVariableOf)].filter(
    (name) => name !== "OSTIARY_OPERATOR_PASSWORD" && QUOTED.test(values[name] ?? ""),
  );
}

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
  const { environment: complete, problems: secretProblems } = withSecretsFromFiles(present, SECRETS);
  const quoted = quotedSettings({ ...present, ...complete });
  const problems = [
    ...quoted.map((name) => `${name}: has quotation marks around its value. Remove them`),
    ...secretProblems.filter((problem) => !quoted.some((name) => problem.startsWith(`${name}: `))),
  ];
  const parsed = checkedVariables.safeParse(complete);
  if (!parsed.success || problems.length > 0) {
    const issues = (parsed.error?.issues ?? []).filter(({ path: [name] }) => !quoted.includes(String(name)));
    throw new ConfigError([
      ...problems,
      ...issues.map((issue) => `${String(issue.path[0])}: ${messageOf(issue)}`),
    ]);
  }
  const values = parsed.data;
  const { OSTIARY_OPERATOR_EMAIL: email, OSTIARY_OPERATOR_PASSWORD: password } = values;
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key } = values;
  const tls =
    cert === undefined || key === undefined ? null : { certFile: resolve(cert), keyFile: resolve(key) };
  const publicUrl =
    values.OSTIARY_PUBLIC_URL === undefined ? null : new URL(values.OSTIARY_PUBLIC_URL).origin;
  // A production database must never get an account whose password was printed on a terminal.
  const demo = values.NODE_ENV !== "production" && values.OSTIARY_DEMO;
  return {
    host: values.HOST,
    port: values.PORT,
    dataDir: values.OSTIARY_DATA_DIR,
    /** Where the certificate for HTTPS is; `null`: the service speaks HTTP. */
    tls,
    databaseUrl: values.DATABASE_URL,
    /** Certificates in PEM, of which one must have signed the server's; `null`: the system's. */
    databaseCa: values.DATABASE_CA_FILE,
    redisUrl: values.REDIS_URL,
    /** As `databaseCa`. */
    redisCa: values.REDIS_CA_FILE,
    redisPrefix: values.OSTIARY_REDIS_PREFIX,
    /** Created at start unless a user with this address exists. */
    firstOperator: email === undefined || password === undefined ? null : { email, password },
    localModels: values.OSTIARY_LOCAL_MODELS,
    /** Whether the service applies its migrations at start. The bundled database belongs to it alone. */
    migrate: values.OSTIARY_MIGRATE || values.DATABASE_URL === null,
    /** The number of processes that share the port. */
    workers: values.OSTIARY_WORKERS === "auto" ? availableParallelism() : Number(values.OSTIARY_WORKERS),
    takeOver: values.OSTIARY_TAKE_OVER,
    demo,
    signUp: values.OSTIARY_SIGNUP,
    trustedProxies: values.TRUSTED_PROXIES,
    /** Scheme, host and port, without a trailing slash. `null`: the address on which the service listens. */
    publicUrl,
    /** Whether browsers and clients reach the service by HTTPS. */
    isHttps: publicUrl === null ? tls !== null : publicUrl.startsWith("https:"),
    /** The origins of web pages that may call the API from a browser, or `*`. */
    allowedOrigins: values.OSTIARY_ALLOWED_ORIGINS,
    /** Headers for the exporter of traces, which may be secret. The exporter reads its other variables itself. */
    otlpHeaders: values.OTEL_EXPORTER_OTLP_HEADERS ?? null,
    /** Whether traces are exported. */
    traces: (values.OTEL_EXPORTER_OTLP_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) !== undefined,
    metricsFrom: values.OSTIARY_METRICS_FROM,
    /** The port for metrics; `null`: that of the API. */
    metricsPort: values.OSTIARY_METRICS_PORT,
    auditDurability: values.AUDIT_DURABILITY,
    maxBodyBytes: values.OSTIARY_MAX_BODY_BYTES,
    /** The limit on the request bodies of all requests that are received or answered; `null`: as many as fit into the memory. */
    maxUnfinishedBodyBytes: values.OSTIARY_MAX_UNFINISHED_BODY_BYTES ?? null,
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
    /** `null`: not configured. */
    logLevel: values.OSTIARY_LOG ?? null,
    /** Whether a line is logged for each request. */
    accessLog: values.OSTIARY_ACCESS_LOG,
    serviceName: values.OSTIARY_SERVICE_NAME,
    /** Every setting that has a value, by its variable, for the log: what is in force. */
    logged: withoutSecretValues({ ...values, OSTIARY_DEMO: demo }, present),
    /** Warnings about dangerous combinations of settings. */
    warnings: [
      ...(isOpenWithoutTls(values) ? [NO_TLS] : []),
      ...(QUOTED.test(password ?? "") ? [QUOTED_PASSWORD] : []),
      ...(values.TRUSTED_PROXIES.some((block) => block.endsWith("/0")) ? [EVERY_PROXY] : []),
    ],
    /** Messages about variables that look like settings but are none. */
    unknownSettings: unknownSettings(present),
  };
}

/**
 * The settings that have a value, without secrets: of a URL the scheme, host and path, of another secret that it is set, of a file
 * its path.
 */
function withoutSecretValues(
  values: Values,
  present: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, unknown>> {
  const valued = Object.entries(values).filter(
    ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(
    valued.map(([name, value]) => {
      if (name.endsWith("_FILE")) return [name, present[name]];
      const isSecret = SECRETS.some((secret) => secret === name);
      // A password may contain what looks like a URL.
      if (isSecret && !name.endsWith("_URL")) return [name, "(set)"];
      if (typeof value === "string" && value.includes("://")) return [name, addressIn(value)];
      return [name, isSecret ? "(set)" : value];
    }),
  );
}

/** A URL without user, password and query, each of which may be secret. */
function addressIn(url: string): string {
  if (!URL.canParse(url)) return "(set)";
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function isOpenWithoutTls(values: Values): boolean {
  const isLoopback = values.HOST === "localhost" || values.HOST === "::1" || /^127\./.test(values.HOST);
  const isBehindTls =
    values.TLS_CERT_FILE !== undefined ||
    values.TRUSTED_PROXIES.length > 0 ||
    values.OSTIARY_PUBLIC_URL?.startsWith("https:") === true;
  return !isLoopback && !isBehindTls;
}

/** The setting of {@link COMMON_SETTINGS} whose name this seems to be. */
function commonSettingLike(name: string): string | undefined {
  return COMMON_SETTINGS.find((setting) => {
    const maxDistance = Math.floor(setting.length / COMMON_LETTERS_PER_TYPING_ERROR);
    return closestMatch(name, [setting], { maxDistance }) !== undefined;
  });
}

/**
 * A line for each variable that looks like a setting but is not one, with the closest setting, in the order
 * of the names: Deno lists the environment in another order in each process.
 */
export function unknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const known = [...Object.keys(variables.shape), ...SECRETS.map(fileVariableOf)];
  const names = Object.keys(environment).sort();
  return names.flatMap((name) => {
    if (known.includes(name) || CLIENT_VARIABLES.has(name)) return [];
    if (!name.startsWith(PREFIX)) {
      const near = commonSettingLike(name);
      if (near === undefined || (environment[near] ?? "") !== "") return [];
      return [`${name}: is not a setting of this service. Did you mean ${near}?`];
    }
    const bare = name.slice(PREFIX.length);
    // Some settings have the names that they have everywhere, such as PORT and DATABASE_URL.
    const maxDistance = Math.min(MAX_TYPING_ERRORS, Math.floor(bare.length / LETTERS_PER_TYPING_ERROR));
    const meant = known.includes(bare) ? bare : closestMatch(name, known, { maxDistance });
    return [
      meant === undefined
        ? `${name}: is not a setting of this service`
        : `${name}: is not a setting of this service. Did you mean ${meant}?`,
    ];
  });
}
