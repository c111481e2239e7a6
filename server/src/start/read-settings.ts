import { resolve } from "node:path";
import { type Config, ConfigError, readConfig, unknownSettings } from "../config/config.ts";
import type { Plans } from "../contract/plans.ts";
import { readTlsPair, type TlsPair } from "../http/tls-pair.ts";
import { type CatalogFromFile, readCatalogFile } from "./open-models.ts";
import { openPlans } from "./open-plans.ts";

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
 * Reads the environment, and the certificate, the plans and the catalog file that it names.
 *
 * @throws {ConfigError} with all problems of them, and with unknown settings, which are probably misspelt.
 */
export async function readSettings(environment: Environment): Promise<Settings> {
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
  if (config !== null && plans !== null && problems.length === 0) return { config, tls, plans, catalogFile };
  throw new ConfigError([...problems, ...unknownSettings(environment)]);
}

function settingOf(environment: Environment, name: string): string | null {
  return environment[name]?.trim() || null;
}

function hasProblems(error: unknown): error is Error & { readonly problems: readonly string[] } {
  return error instanceof Error && "problems" in error && Array.isArray(error.problems);
}
