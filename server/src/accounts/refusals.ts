import { Failure } from "../errors/failure.ts";

/** The refusal of a key or management token of a suspended account. */
export function suspended(): Failure {
  return new Failure("account_suspended", "The account is suspended. Ask the operator of the service why.");
}

/** The refusal of an address outside an account's rules. */
export function ipBlocked(address: string | null): Failure {
  const from = address === null ? "an unknown address" : address;
  return new Failure(
    "ip_blocked",
    `The account's IP rules do not allow requests from ${from}. Call from an allowed network, or ask the operator of the service to change the rules.`,
  );
}
