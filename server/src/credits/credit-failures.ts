import { Failure } from "../errors/failure.ts";

export function exhausted(): Failure {
  return new Failure(
    "credit_balance_exhausted",
    "The account's credit does not cover this request. Ask the operator of the service for credit, or request fewer tokens.",
  );
}

function unavailable(message: string, retryAfterMs: number): Failure {
  return new Failure("server_is_overloaded", message, { retryAfterMs });
}

export function reservedElsewhere(): Failure {
  return unavailable(
    "The account's credit is reserved for other requests that are being answered. Try again when they have ended.",
    1_000,
  );
}

export function reservedByAbsentNode(): Failure {
  return unavailable(
    "The account's remaining credit is reserved by a node that is not running. Try again later; the operator of the service can release it.",
    30_000,
  );
}

export function databaseUnavailable(): Failure {
  return unavailable(
    "The service cannot check the account's credit at the moment. Try again shortly.",
    1_000,
  );
}
