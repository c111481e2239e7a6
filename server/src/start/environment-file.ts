import process from "node:process";

/** Adds the settings of a file `.env` in the working folder to the environment of the process, except in production. */
export function readEnvironmentFile(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment.NODE_ENV === "production") return;
  try {
    process.loadEnvFile(".env");
  } catch {
    // Most folders have none.
  }
}
