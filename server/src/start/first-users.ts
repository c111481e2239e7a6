import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomBase62 } from "../secrets/oslo.ts";
import type { OpenAccess } from "./open-access.ts";
import type { Startup } from "./startup.ts";

const DEMO_EMAIL = "demo@ostiary.example";
const DEMO_OPERATOR_EMAIL = "operator@ostiary.example";
const NOTE_FILE = "demo-sign-in.txt";

/** The demo account, as the banner of the first start shows it. */
export interface DemoAccount {
  readonly email: string;
  readonly password: string;
  /** The key string, which is shown once. */
  readonly key: string;
  /** The operator beside it; `null`: one is configured. */
  readonly operator: { readonly email: string; readonly password: string } | null;
}

/**
 * Creates the configured operator, unless a user with that address exists: the password of that user stays. Creates the demo account if the database
 * has no accounts, unless that is turned off. If there are several workers, only the first creates them.
 */
export async function createFirstUsers(
  { settings: { config }, log, worker }: Startup,
  access: OpenAccess,
): Promise<DemoAccount | null> {
  if (worker !== null && worker.number !== 1) return null;
  if (config.firstOperator !== null) {
    const { email, password } = config.firstOperator;
    if (await access.signIn.ensureOperator(email, password))
      log.info({ email }, "created the first operator");
  }
  const isNew = config.demo && (await access.accountAdmin.isEmpty());
  if (!isNew) return null;
  const operator = config.firstOperator === null ? await createDemoOperator(access) : null;
  const note = join(config.dataDir, NOTE_FILE);
  const demo = await createDemoAccount(access, note, operator);
  log.info(
    { email: demo.email, passwordIn: note },
    "created the demo account; OSTIARY_DEMO=0 turns this off",
  );
  return demo;
}

/** Creates an operator, so that the console can be tried too. */
async function createDemoOperator({ signIn }: OpenAccess): Promise<DemoAccount["operator"]> {
  const password = randomBase62(16);
  const isCreated = await signIn.ensureOperator(DEMO_OPERATOR_EMAIL, password);
  return isCreated ? { email: DEMO_OPERATOR_EMAIL, password } : null;
}

/**
 * Creates the demo account with a key. E-mail addresses and passwords, but not the key, are also written to a
 * file in the data folder that only its owner can read.
 */
async function createDemoAccount(
  { signIn, keys }: OpenAccess,
  note: string,
  operator: DemoAccount["operator"],
): Promise<DemoAccount> {
  const password = randomBase62(16);
  const noClient = { sourceIp: null, userAgent: null };
  // The user is not signed in, because no browser would have the session.
  const { signedIn } = await signIn.register({ email: DEMO_EMAIL, password, accountName: "Demo" }, noClient);
  if (signedIn.role !== "owner") throw new Error("the demo's user has no account");
  const by = { userId: signedIn.user.id, managementToken: null, sourceIp: null };
  const { key } = await keys.create(by, signedIn.account.id, "demo");
  const users = [{ email: DEMO_EMAIL, password }, ...(operator === null ? [] : [operator])];
  const lines = users.map((user) => `e-mail: ${user.email}\npassword: ${user.password}\n`);
  await writeFile(note, lines.join("\n"), { mode: 0o600 });
  return { email: DEMO_EMAIL, password, key, operator };
}
