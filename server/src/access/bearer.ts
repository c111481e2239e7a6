import { Failure } from "../errors/failure.ts";
import { isKeyString } from "../keys/key-string.ts";

const BEARER = /^Bearer (sk-.*)$/;
const SENT_MANAGEMENT_TOKEN = "This is a management token. Send an API key.";

/** The credentials that a request may send. */
export type AcceptedCredential = "key" | "key-or-management-token";

/** What each of them must look like in the header. */
const FORMS: { readonly [Accepted in AcceptedCredential]: string } = {
  key: "`Bearer <API_KEY>`, with one space, and the key begins with `sk-`.",
  "key-or-management-token":
    "`Bearer <CREDENTIAL>`, with one space. An API key begins with `sk-`, and a management token with `mt-`.",
};

/**
 * Reads the key string of an `Authorization` header: exactly `Bearer sk-…`, one header, one space (specification,
 * sections 5 and 7). {@link requireKeyForm} checks the form of the key.
 *
 * @param accepted A management token, if it is accepted, was read before.
 * @throws {Failure} `invalid_api_key` for everything else. The message never repeats what was sent.
 */
export function readBearer(authorization: readonly string[], accepted: AcceptedCredential): string {
  const [value, ...others] = authorization;
  if (value === undefined) {
    throw invalidApiKey("No API key was sent. Send the header `Authorization: Bearer <API_KEY>`.");
  }
  if (others.length > 0) {
    throw invalidApiKey("Several Authorization headers were sent. Send one.");
  }
  if (readManagementToken(authorization) !== null) throw invalidApiKey(SENT_MANAGEMENT_TOKEN);
  const keyString = BEARER.exec(value)?.[1];
  if (keyString === undefined) {
    throw invalidApiKey(`The Authorization header is malformed. It must be exactly ${FORMS[accepted]}`);
  }
  return keyString;
}

/**
 * The `Authorization` header of a request that has an `x-api-key`, as Anthropic's clients send it. Some send the key in both.
 *
 * @throws {Failure} `invalid_api_key` when the two differ, or `x-api-key` is malformed.
 */
export function authorizationFromApiKey(
  authorization: readonly string[],
  [apiKey, ...others]: readonly string[],
): readonly string[] {
  if (others.length > 0) throw invalidApiKey("Several x-api-key headers were sent. Send one.");
  const value = `Bearer ${apiKey}`;
  if (readManagementToken([value]) !== null) throw invalidApiKey(SENT_MANAGEMENT_TOKEN);
  if (!BEARER.test(value)) {
    throw invalidApiKey("The x-api-key header must be exactly the API key, which begins with `sk-`.");
  }
  if (authorization.some((sent) => sent !== value)) {
    throw invalidApiKey("Authorization and x-api-key differ. Send the key in one of the two headers.");
  }
  return authorization.length > 0 ? authorization : [value];
}

/** @throws {Failure} `invalid_api_key` for text that is not in the form of a key string. */
export function requireKeyForm(keyString: string): void {
  if (isKeyString(keyString)) return;
  throw invalidApiKey(
    "The API key is mistyped or incomplete. Copy it again, or create a new one in the dashboard.",
  );
}

/** The management token of the header; `null` if it holds none. The form of the token is not checked. */
export function readManagementToken(authorization: readonly string[]): string | null {
  const [value, ...others] = authorization;
  if (value === undefined || others.length > 0) return null;
  return /^Bearer (mt-.*)$/.exec(value)?.[1] ?? null;
}

function invalidApiKey(message: string): Failure {
  return new Failure("invalid_api_key", message);
}
