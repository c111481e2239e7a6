import { randomBytes } from "node:crypto";
import type { Database } from "./database.ts";

const SECRET_BYTES = 32;

/** Returns the secret for the MAC of key strings (a mark, by the column's first name). The first node that asks creates it. */
export async function keyMacSecret(database: Database): Promise<Uint8Array> {
  await database`
    insert into installation (key_mark_secret) values (${randomBytes(SECRET_BYTES)})
    on conflict (singleton) do nothing`;
  const [row] = await database<{ key_mark_secret: Uint8Array }[]>`select key_mark_secret from installation`;
  if (row === undefined) throw new Error("the installation has no row");
  return row.key_mark_secret;
}

/**
 * Returns the key that the installation seals stored responses with, or `null` if there is none. The first node that needs it creates
 * it. Call it after {@link keyMacSecret}, which creates the installation's row.
 */
export async function responsesKey(
  database: Database,
  { isNeeded }: { readonly isNeeded: boolean },
): Promise<Uint8Array | null> {
  if (isNeeded) {
    await database`
      update installation set responses_key = ${randomBytes(SECRET_BYTES)} where responses_key is null`;
  }
  const [row] = await database<
    { responses_key: Uint8Array | null }[]
  >`select responses_key from installation`;
  return row?.responses_key ?? null;
}
