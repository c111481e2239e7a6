import { objectOf } from "./checks.ts";
import { OstiaryError } from "./errors.ts";

/**
 * The body that is sent for parameters: with the fields of `extra_body` in place of it.
 *
 * @throws {OstiaryError} there are no parameters, or they are not an object, which JavaScript does not prevent.
 */
export function bodyOf<
  Params extends { readonly extra_body?: Readonly<Record<string, unknown>> | undefined },
>(method: string, example: string, params: Params): Omit<Params, "extra_body"> {
  const given: unknown = params;
  if (typeof given !== "object" || given === null) {
    throw new OstiaryError(`${method} was called without parameters. Pass ${example}.`);
  }
  const { extra_body: extra, ...body } = params;
  return { ...body, ...(extra == null ? {} : objectOf("extra_body", extra)) };
}
