import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { SignedIn } from "../accounts/user.ts";
import { Failure } from "../errors/failure.ts";
import { codeOf } from "../errors/system-errors.ts";
import { fileSystem } from "../journal/file-system.ts";
import { randomBase62 } from "../secrets/oslo.ts";
import { unusableDataDir } from "./data-dir.ts";
import type { OpenAccess } from "./open-access.ts";
import type { Startup } from "./startup.ts";

const DEMO_EMAIL = "demo@ostiary.example";
const DEMO_OPERATOR_EMAIL = "operator@ostiary.example";
const NOTE_FILE = "demo-sign-in.txt";
/** Has the passwords from before the first user is created until the note is written, so that an interrupted start can be continued. */
const UNFINISHED_FILE = "demo-sign-in.unfinished";
/** The idempotency key with which the key is created. */
const KEY_CREATION = "demo";
const PASSWORD_LENGTH = 16;

/** The demo account, as the banner of the first start shows it. */
export interface DemoAccount {
  readonly email: string;
  readonly password: string;
  /** The key string, which is shown once. */
  readonly key: string;
  /** The operator beside it; `null`: one is configured. */
  readonly operator: { readonly email: string; readonly password: string } | null;
}

/** The passwords of the demo account's user and of the demo operator. */
interface DemoPasswords {
  readonly user: string;
  readonly operator: string;
}

/**
 * Creates the configured operator, unless a user with that address exists, whose password is kept. Creates the demo account if the
 * database has no accounts, unless that is turned off, or continues to create it where an earlier start was interrupted. Of several workers,
 * the first does.
 *
 * @throws {StartupFailure} if the passwords can't be written to the data folder.
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
  if (!config.demo) return null;
  const { dataDir } = config;
  const unfinished = join(dataDir, UNFINISHED_FILE);
  const begun = await readPasswords(unfinished);
  const isNew = await access.accountAdmin.isEmpty();
  if (!isNew && !(begun !== null && (await access.signIn.hasPassword(DEMO_EMAIL, begun.user)))) return null;

  const passwords = begun ?? {
    user: randomBase62(PASSWORD_LENGTH),
    operator: randomBase62(PASSWORD_LENGTH),
  };
  await writePrivately(dataDir, unfinished, `${passwords.user}\n${passwords.operator}\n`);
  const operator = config.firstOperator === null ? await demoOperator(access, passwords.operator) : null;
  const user = { email: DEMO_EMAIL, password: passwords.user };
  const signedIn = await access.signIn.ensureOwner({ ...user, accountName: "Demo" });
  const note = join(dataDir, NOTE_FILE);
  const users = [user, ...(operator === null ? [] : [operator])];
  const lines = users.map(({ email, password }) => `e-mail: ${email}\npassword: ${password}\n`);
  await writePrivately(dataDir, note, lines.join("\n"));
  const key = await createDemoKey(access, signedIn);
  await fileSystem.remove(unfinished);
  log.info(
    { email: user.email, passwordIn: note },
    "created the demo account; OSTIARY_DEMO=0 turns this off",
  );
  return key === null ? null : { ...user, key, operator };
}

/** Creates an operator, so that the console can be tried too. @returns `null` if a user with the address has another password. */
async function demoOperator({ signIn }: OpenAccess, password: string): Promise<DemoAccount["operator"]> {
  const isCreated = await signIn.ensureOperator(DEMO_OPERATOR_EMAIL, password);
  const isKnown = isCreated || (await signIn.hasPassword(DEMO_OPERATOR_EMAIL, password));
  return isKnown ? { email: DEMO_OPERATOR_EMAIL, password } : null;
}

/**
 * Creates the key of the demo account. An interrupted start may have created one whose string was never shown: it is replaced.
 *
 * @returns the string; `null` if the account has such a key that can no longer be replaced.
 */
async function createDemoKey({ keys }: OpenAccess, signedIn: SignedIn): Promise<string | null> {
  if (signedIn.role !== "owner") throw new Error("the demo's user has no account");
  const by = { userId: signedIn.user.id, managementToken: null, sourceIp: null };
  for (;;) {
    try {
      return (await keys.create(by, signedIn.account.id, "demo", KEY_CREATION)).key;
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "conflict") throw error;
      // A string is replaced only after the time in which it may still reach a caller.
      if (error.retryAfterMs === null) return null;
      await setTimeout(error.retryAfterMs);
    }
  }
}

/** @returns `null` if no start was interrupted. */
async function readPasswords(file: string): Promise<DemoPasswords | null> {
  try {
    const [user = "", operator = ""] = (await readFile(file, "utf8")).split("\n");
    return user === "" || operator === "" ? null : { user, operator };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Writes a file that only its owner can read. */
async function writePrivately(dataDir: string, file: string, text: string): Promise<void> {
  try {
    await fileSystem.replace(file, Buffer.from(text));
  } catch (error) {
    throw unusableDataDir(dataDir, error);
  }
}
