import { closeSync, openSync, statSync } from "node:fs";
import process from "node:process";
import { codeOf, fileReasonOf } from "../errors/system-errors.ts";
import { ConfigError } from "./config.ts";

const FILE = ".env";

/**
 * Adds the settings of a file `.env` in the working folder to the environment of the process, except in production. Variables that are
 * set already stay as they are. A folder of that name is no settings.
 *
 * @throws {ConfigError} when there is a file and it cannot be read: the service would run with other settings than its operator wrote.
 */
export function loadEnvironmentFile(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment.NODE_ENV === "production") return;
  try {
    const found = statSync(FILE);
    if (found.isDirectory()) return;
    // Node says of a file that may not be read that it does not exist. A pipe can be opened only once.
    if (found.isFile()) closeSync(openSync(FILE, "r"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw new ConfigError([`The file ${FILE} of the working folder cannot be read: ${fileReasonOf(error)}`]);
  }
  process.loadEnvFile(FILE);
}
