import { Failure } from "../errors/failure.ts";
import { withoutSecrets } from "../secrets/redact.ts";

const MAX_NAME_LENGTH = 64;

/** `invalid_request` for a parameter or field whose value is not valid. */
export function invalid(param: string, reason: string): Failure {
  return new Failure("invalid_request", `${param}: ${reason}`, { param });
}

/** `invalid_request` for the name of a parameter or field that an operation does not take. */
export function unknownField(name: string, kind: "parameter" | "field", known: readonly string[]): Failure {
  const others = known.length === 0 ? "This operation takes none." : `There are ${known.join(", ")}.`;
  return new Failure("invalid_request", `There is no ${kind} of this name. ${others}`, {
    param: withoutSecrets(name).slice(0, MAX_NAME_LENGTH),
  });
}

/** `invalid_request` for a name that occurs twice. */
export function doubledField(name: string): Failure {
  const param = withoutSecrets(name).slice(0, MAX_NAME_LENGTH);
  return invalid(param, "must come once");
}
