import { readFileSync } from "node:fs";
import { fileReasonOf } from "../errors/system-errors.ts";
import { fileForMessage } from "../secrets/named-elsewhere.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const SUFFIX = "_FILE";

/** The variable that names the file of a secret. */
export function fileVariableOf(secret: string): string {
  return `${secret}${SUFFIX}`;
}

/**
 * Reads the secrets that are in files, as orchestrators mount them: `NAME_FILE` is the path of a file with the value of `NAME`.
 * A byte order mark at the beginning of a file and newlines at its end are no part of its secret.
 *
 * @param environment has no empty values.
 * @param secrets the variables that may be in files.
 * @param spelled how a variable is written in the environment.
 * @returns the environment with the secrets in place of the files, and a line for each file that can't be used.
 */
export function withSecretsFromFiles(
  environment: Environment,
  secrets: readonly string[],
  spelled = (name: string) => name,
): { readonly environment: Environment; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const read: Record<string, string | undefined> = { ...environment };
  for (const name of secrets) {
    const variable = fileVariableOf(name);
    const path = environment[variable];
    delete read[variable];
    if (path === undefined) continue;
    if (environment[name] !== undefined) {
      problems.push(`${variable}: is set together with ${spelled(name)}. Set one of them`);
      continue;
    }
    try {
      read[name] = secretIn(path);
    } catch (error) {
      problems.push(`${variable}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { environment: read, problems };
}

function secretIn(path: string): string {
  const secret = readText(path).replace(/^\ufeff|[\r\n]+$/g, "");
  if (secret === "") throw new Error(`${fileForMessage(path)} is empty`);
  return secret;
}

/** @throws {Error} with the path, unless it may be a secret, and the reason when the file can't be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${fileForMessage(path)} cannot be read: ${fileReasonOf(error)}`);
  }
}
