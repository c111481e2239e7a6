import { isIPv4 } from "node:net";
import { resolve } from "node:path";
import { messageOf } from "../errors/issue-message.ts";
import { withSecretsFromFiles } from "./secret-files.ts";
import { ALSO_IN_LOWER_CASE, SECRETS, SETTING_NAMES, type SettingValues, settings } from "./settings.ts";
import { unknownSettings } from "./unknown-settings.ts";
import { usableCores } from "./usable-cores.ts";

/** Everything that is wrong with the environment, a line for each variable. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const PRESTOP_BEHIND_PROXY_S = 5;

const NO_TLS =
  "The service listens beyond this machine without TLS: keys, passwords and prompts cross the network in the clear. Set TLS_CERT_FILE and TLS_KEY_FILE, or put a proxy that terminates TLS in front of it, and set TRUSTED_PROXIES to the proxy and OSTIARY_PUBLIC_URL to the public address, or set HOST=127.0.0.1.";

const EVERY_PROXY =
  "TRUSTED_PROXIES has a block of every address, so the service cannot tell proxies from clients: a client may choose the address that IP rules, limits on sign-in and the audit log see. Set it to the addresses of the proxies.";

const TAKES_OVER =
  "OSTIARY_TAKE_OVER=1 removes all other nodes of the database, and releases their credit, at each start. Unset it before the next one.";

const QUOTED = /^(["']).*\1$/s;

const QUOTED_PASSWORD =
  "OSTIARY_OPERATOR_PASSWORD begins and ends with a quotation mark. Both are part of the password. Remove them if they are not meant to be.";

/** The checked settings. */
export type Config = ReturnType<typeof configOf>;

/**
 * Checks the environment. An empty variable counts as absent, as in most `.env` files.
 *
 * @throws {ConfigError} naming every variable that is wrong, not only the first.
 */
export function readConfig(environment: Environment): Config {
  const present = Object.fromEntries(
    Object.entries(environment)
      .map(([name, value]) => [name, value?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ""),
  );
  for (const name of ALSO_IN_LOWER_CASE) present[name] = present[name.toLowerCase()] ?? present[name];
  return configOf(checkedValues(present), present);
}

/** The values of the settings, from the environment and the files of secrets. @throws {ConfigError} */
function checkedValues(present: Environment): SettingValues {
  const spelled = (name: string) => spelledIn(present, name);
  const { environment: complete, problems: secretProblems } = withSecretsFromFiles(present, SECRETS, spelled);
  const quoted = quotedSettings({ ...present, ...complete });
  const problems = [
    ...quoted.map((name) => `${spelled(name)}: has quotation marks around its value. Remove them`),
    ...secretProblems.filter((problem) => !quoted.some((name) => problem.startsWith(`${name}: `))),
  ];
  const parsed = settings.safeParse(complete);
  if (parsed.success && problems.length === 0) return parsed.data;
  const issues = (parsed.error?.issues ?? []).filter(({ path: [name] }) => !quoted.includes(String(name)));
  throw new ConfigError([
    ...problems,
    ...issues.map((issue) => `${spelled(String(issue.path[0]))}: ${messageOf(issue)}`),
  ]);
}

/** The variable that a setting was read from. */
function spelledIn(present: Environment, name: string): string {
  const isLowerCase = ALSO_IN_LOWER_CASE.some((other) => other === name) && name.toLowerCase() in present;
  return isLowerCase ? name.toLowerCase() : name;
}

/**
 * Settings whose quotation marks are part of the value, as `docker run --env-file` keeps them. A password may begin and end with one.
 *
 * @param values of settings, and paths of the files of secrets.
 */
function quotedSettings(values: Environment): readonly string[] {
  return SETTING_NAMES.filter(
    (name) => name !== "OSTIARY_OPERATOR_PASSWORD" && QUOTED.test(values[name] ?? ""),
  );
}

/** The settings in the form in which the service uses them. `present`: the variables that are not empty, as they are in the environment. */
function configOf(values: SettingValues, present: Environment) {
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
    /** The certificates (PEM) that may have signed the server's; `null`: those that the runtime contains. */
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
    workers: values.OSTIARY_WORKERS === "auto" ? usableCores() : Number(values.OSTIARY_WORKERS),
    takeOver: values.OSTIARY_TAKE_OVER,
    demo,
    signUp: values.OSTIARY_SIGNUP,
    trustedProxies: values.TRUSTED_PROXIES,
    /** Scheme, host and port, without a trailing slash. `null`: the address on which the service listens. */
    publicUrl,
    /** Whether only this machine reaches the service, without a proxy and without a name of its own. */
    isLocal: isLoopback(values) && publicUrl === null && tls === null && values.TRUSTED_PROXIES.length === 0,
    /** Whether browsers and clients reach the service by HTTPS. */
    isHttps: publicUrl === null ? tls !== null : publicUrl.startsWith("https:"),
    /** The origins of web pages that may call the API from a browser, or `*`. */
    allowedOrigins: values.OSTIARY_ALLOWED_ORIGINS,
    /** Headers for the exporter of traces, which may be secret. The exporter reads its other variables itself. */
    otlpHeaders: values.OTEL_EXPORTER_OTLP_HEADERS ?? null,
    /** Whether traces are exported. */
    traces: (values.OTEL_EXPORTER_OTLP_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) !== undefined,
    /** The proxies that lead to upstreams. */
    upstreamProxies: { https: values.HTTPS_PROXY, http: values.HTTP_PROXY, except: values.NO_PROXY },
    metricsFrom: values.OSTIARY_METRICS_FROM,
    /** The port for metrics; `null`: that of the API. */
    metricsPort: values.OSTIARY_METRICS_PORT,
    auditDurability: values.AUDIT_DURABILITY,
    maxBodyBytes: values.OSTIARY_MAX_BODY_BYTES,
    /** The limit on the request bodies of all requests that are received or answered; `null`: as many as fit into the memory. */
    maxUnfinishedBodyBytes: values.OSTIARY_MAX_UNFINISHED_BODY_BYTES ?? null,
    maxConnections: values.OSTIARY_MAX_CONNECTIONS,
    keepAliveS: values.OSTIARY_KEEP_ALIVE_S,
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
    warnings: warningsOf(values),
    /** Messages about variables that look like settings but are none. */
    unknownSettings: unknownSettings(present),
  };
}

/**
 * The settings that have a value, without secrets: of a URL the scheme, host and path, of another secret that it is set, of a file
 * its path.
 */
function withoutSecretValues(values: SettingValues, present: Environment): Readonly<Record<string, unknown>> {
  const valued = Object.entries(values).filter(
    ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(
    valued.map(([name, value]) => {
      if (name.endsWith("_FILE")) return [name, present[name]];
      const isSecret = SECRETS.some((secret) => secret === name);
      // A password may contain what looks like a URL.
      if (isSecret && !/_(URL|PROXY)$/.test(name)) return [name, "(set)"];
      if (typeof value === "string" && value.includes("://")) return [name, addressIn(value)];
      return [name, isSecret ? "(set)" : value];
    }),
  );
}

/** A URL without its user, password and query, which may be secret. */
function addressIn(url: string): string {
  if (!URL.canParse(url)) return "(set)";
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function warningsOf(values: SettingValues): readonly string[] {
  return [
    ...(isOpenWithoutTls(values) ? [NO_TLS] : []),
    ...(QUOTED.test(values.OSTIARY_OPERATOR_PASSWORD ?? "") ? [QUOTED_PASSWORD] : []),
    ...(values.TRUSTED_PROXIES.some((block) => block.endsWith("/0")) ? [EVERY_PROXY] : []),
    ...(values.OSTIARY_TAKE_OVER ? [TAKES_OVER] : []),
  ];
}

function isLoopback({ HOST: host }: SettingValues): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

function isOpenWithoutTls(values: SettingValues): boolean {
  const isBehindTls =
    values.TLS_CERT_FILE !== undefined ||
    values.TRUSTED_PROXIES.length > 0 ||
    values.OSTIARY_PUBLIC_URL?.startsWith("https:") === true;
  return !isLoopback(values) && !isBehindTls;
}
