import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Config, ConfigError, readConfig } from "../config/config.ts";
import { loadEnvironmentFile } from "../config/environment-file.ts";
import { unknownSettings } from "../config/unknown-settings.ts";
import type { Plans } from "../contract/plans.ts";
import { maxOpenFiles, OTHER_FILES } from "../http/open-files.ts";
import { readTlsPair, type TlsPair, validityWarning } from "../http/tls-pair.ts";
import { memoryWarnings, readMemory } from "./memory.ts";
import { type CatalogFromFile, readCatalogFile } from "./open-models.ts";
import { openPlans } from "./open-plans.ts";
import { isDeno } from "./runtime.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The validated settings. */
export interface Settings {
  readonly config: Config;
  /** The certificate for HTTPS; `null`: the service speaks HTTP. */
  readonly tls: TlsPair | null;
  readonly plans: Plans;
  /** `null` without a catalog file. */
  readonly catalogFile: CatalogFromFile | null;
}

/**
 * Reads the environment, and the certificate, the plans and the catalog file that it names. Except in production, adds the settings
 * of a file `.env` in the working folder to the environment of the process.
 *
 * @throws {ConfigError} with all problems of them, and with unknown settings, which are probably misspelt.
 */
export async function readSettings(environment: Environment): Promise<Settings> {
  loadEnvironmentFile(environment);
  const problems: string[] = [];
  const attempt = async <Result>(read: () => Result | Promise<Result>): Promise<Result | null> => {
    try {
      return await read();
    } catch (error) {
      if (!hasProblems(error)) throw error;
      problems.push(...error.problems);
      return null;
    }
  };
  const config = await attempt(() => readConfig(environment));
  const files = config?.tls ?? null;
  const tls = files === null ? null : await attempt(() => readTlsPair(files));
  const plans = await attempt(() => openPlans(settingOf(environment, "OSTIARY_PLANS")));
  const path = settingOf(environment, "OSTIARY_CATALOG");
  const catalogFile = path === null ? null : await attempt(() => readCatalogFile(resolve(path), environment));
  if (config !== null && plans !== null && problems.length === 0) {
    const tlsWarning = tls === null ? null : validityWarning(tls, new Date());
    const warnings = [
      ...config.warnings,
      ...fileLimitWarnings(config),
      ...memoryWarnings(config, readMemory()),
      ...(tlsWarning === null ? [] : [tlsWarning]),
    ];
    return { config: { ...config, warnings }, tls, plans, catalogFile };
  }
  throw new ConfigError([...problems, ...unknownSettings(environment)]);
}

/** On Deno the number of connections has no limit of its own. */
function fileLimitWarnings({ maxConnections }: Config): string[] {
  const files = maxOpenFiles();
  if (isDeno || files === null || files >= maxConnections + OTHER_FILES) return [];
  return [
    `There may be ${maxConnections} connections (OSTIARY_MAX_CONNECTIONS), but this process may open only ${files} files and sockets, and each request to a model needs one more. Raise the limit of the process (ulimit -n, LimitNOFILE of systemd), or lower the setting.`,
  ];
}

function settingOf(environment: Environment, name: string): string | null {
  return environment[name]?.trim() || null;
}

function hasProblems(error: unknown): error is Error & { readonly problems: readonly string[] } {
  return error instanceof Error && "problems" in error && Array.isArray(error.problems);
}

/** Returns the version of the service. @param manifest its `package.json`. */
export async function readVersion(manifest: URL): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(manifest, "utf8"));
  return version;
}
