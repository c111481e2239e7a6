import type { ZodError } from "zod";
import { messageOf } from "../../errors/issue-message.ts";

/** An error that the sandbox answers a request with. */
export class SandboxRefusal extends Error {
  override readonly name = "SandboxRefusal";
  readonly status: number;
  readonly code: string;
  readonly param: string | null;

  constructor(status: number, code: string, message: string, param: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** The refusal of a field. */
export function invalidField(param: string, reason: string): SandboxRefusal {
  return new SandboxRefusal(400, "invalid_request", `${param}: ${reason}`, param);
}

/** The refusal of the first field that is not valid. */
export function refusalOfInput({ issues: [issue] }: ZodError): SandboxRefusal {
  return invalidField(
    issue?.path.join(".") ?? "body",
    issue === undefined ? "is not valid" : messageOf(issue),
  );
}
