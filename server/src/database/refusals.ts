import postgres from "postgres";
import { CLOSED_TABLES } from "./readable.ts";
import { READ_ONLY } from "./writable.ts";

/** What a server refuses, by SQLSTATE, as the end of a sentence that begins with the server's name. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  [READ_ONLY, "refuses to write"],
  ["28000", "refuses the sign-in"],
  ["28P01", "refuses the sign-in"],
  ["42501", "refuses the sign-in"],
  [CLOSED_TABLES, "does not let the service read its tables"],
  ["3D000", "does not have the database of DATABASE_URL"],
  ["53100", "has no disk space left"],
  ["53200", "has no memory left"],
  ["53300", "has no connection left"],
  ["55000", "accepts no connections"],
  ["57P03", "accepts no connections"],
]);

/** What a server that answers refuses, without names and secrets; `null` if the error says something else, such as that it does not answer. */
export function databaseRefusalOf(error: unknown): string | null {
  return error instanceof postgres.PostgresError ? (REFUSALS.get(error.code) ?? null) : null;
}
