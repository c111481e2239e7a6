import type { Logger } from "pino";
import type { SignIn } from "../accounts/sign-in.ts";

/** Creates the configured operator, unless a user with that address exists, whose password is kept. */
export async function createFirstOperator(
  signIn: SignIn,
  { email, password }: { readonly email: string; readonly password: string },
  log: Logger,
): Promise<void> {
  if (await signIn.ensureOperator(email, password)) log.info({ email }, "created the first operator");
}
