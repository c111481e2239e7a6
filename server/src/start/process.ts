import { readFile } from "node:fs/promises";
import process from "node:process";
import { destination, type Logger, pino } from "pino";
import type { Config } from "../config/config.ts";
import { withoutSecrets } from "../secrets/redact.ts";

/** Lines of JSON on standard error. Whatever an error's message contains, no key is written. */
export function openLog(level: Config["logLevel"]): Logger {
  return pino({ level, hooks: { streamWrite: withoutSecrets } }, destination({ fd: 2, sync: true }));
}

/** Adds what `.env` contains to the environment, outside production. */
export function readEnvironmentFile(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment.NODE_ENV === "production") return;
  try {
    process.loadEnvFile(".env");
  } catch {
    // Most folders have none.
  }
}

/** @param manifest the `package.json` of the service. */
export async function readVersion(manifest: URL): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(manifest, "utf8"));
  return version;
}
