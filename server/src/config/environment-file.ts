import { readFileSync, statSync } from "node:fs";
import process from "node:process";
import { codeOf, fileReasonOf } from "../errors/system-errors.ts";
import { ConfigError } from "./config.ts";

const FILE = ".env";
/** The mark with which some editors begin a file of UTF-8 (first) or UTF-16. The first name, or each of them, would be another one with it. */
const BYTE_ORDER_MARK = /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/;

/**
 * Adds the settings of a file `.env` in the working folder to the environment of the process, except in production. Variables that are
 * set already stay as they are. A folder of that name is no settings.
 *
 * @throws {ConfigError} when there is a file and it cannot be read: the service would run with other settings than its operator wrote.
 */
export function loadEnvironmentFile(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment.NODE_ENV?.trim() === "production") return;
  let text = "";
  try {
    const found = statSync(FILE);
    if (found.isDirectory()) return;
    // Node says of a file that may not be read that it does not exist. A pipe can be read only once.
    if (found.isFile()) text = readFileSync(FILE, "latin1");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw new ConfigError([`The file ${FILE} of the working folder cannot be read: ${fileReasonOf(error)}`]);
  }
  if (BYTE_ORDER_MARK.test(text)) {
    throw new ConfigError([
      `The file ${FILE} of the working folder begins with a byte order mark. Save it as UTF-8 without one`,
    ]);
  }
  process.loadEnvFile(FILE);
}
