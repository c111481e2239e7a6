import type { Logger } from "pino";
import type { SignIn } from "../accounts/sign-in.ts";

/** Makes the configured operator, unless there is a user with that address: a password changed since is kept. */
export async function createFirstOperator(
  signIn: SignIn,
  { email, password }: { readonly email: string; readonly password: string },
  log: Logger,
): Promise<void> {
  if (await signIn.ensureOperator(email, password)) log.info({ email }, "created the first operator");
}
