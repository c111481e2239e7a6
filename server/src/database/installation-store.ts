import { randomBytes } from "node:crypto";
import type { Database } from "./database.ts";

const SECRET_BYTES = 32;

/** Returns the secret for the MAC of key strings. The first node that asks creates it. */
export async function keyMacSecret(database: Database): Promise<Uint8Array> {
  await database`
    insert into installation (key_mark_secret) values (${randomBytes(SECRET_BYTES)})
    on conflict (singleton) do nothing`;
  const [row] = await database<{ key_mark_secret: Uint8Array }[]>`select key_mark_secret from installation`;
  if (row === undefined) throw new Error("the installation has no row");
  return row.key_mark_secret;
}
