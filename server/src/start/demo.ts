import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SignIn } from "../accounts/sign-in.ts";
import type { Keys } from "../keys/keys.ts";
import { randomBase62 } from "../secrets/oslo.ts";

export const DEMO_EMAIL = "demo@ostiary.example";
const NOTE_FILE = "demo-sign-in.txt";

/** The demo account, as the banner of the first start shows it. */
export interface DemoAccount {
  readonly email: string;
  readonly password: string;
  /** The key string, which is shown once. */
  readonly key: string;
}

/**
 * Creates the demo account with a key. E-mail address and password, but not the key, are also written to a file in the data folder
 * that only its owner can read.
 */
export async function createDemoAccount(signIn: SignIn, keys: Keys, dataDir: string): Promise<DemoAccount> {
  const password = randomBase62(16);
  const noClient = { sourceIp: null, userAgent: null };
  const { signedIn } = await signIn.signUp({ email: DEMO_EMAIL, password, accountName: "Demo" }, noClient);
  if (signedIn.role !== "owner") throw new Error("the demo's user has no account");
  const by = { userId: signedIn.user.id, managementToken: null, sourceIp: null };
  const { key } = await keys.create(by, signedIn.account.id, "demo");
  await writeFile(join(dataDir, NOTE_FILE), `e-mail: ${DEMO_EMAIL}\npassword: ${password}\n`, {
    mode: 0o600,
  });
  return { email: DEMO_EMAIL, password, key };
}
