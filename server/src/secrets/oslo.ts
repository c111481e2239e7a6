// The only file that imports oslo, which is no longer maintained, so that it can be replaced here. The request path calls none
// of this: password hashing is slow by design, and a random string costs 0.3 ms.
import { TimeSpan } from "oslo";
import { Cookie } from "oslo/cookie";
import { alphabet, generateRandomString } from "oslo/crypto";
import { Argon2id } from "oslo/password";

export { Cookie, TimeSpan };

const BASE62 = alphabet("0-9", "A-Z", "a-z");

/** Uniformly random characters of `0-9A-Za-z`, from the system's cryptographic source. */
export function randomBase62(length: number): string {
  return generateRandomString(length, BASE62);
}

const argon2id = new Argon2id();

/** Argon2id with oslo's parameters (19 MiB, 2 passes, 1 lane: OWASP's recommendation), in PHC string format. */
export function hashPassword(password: string): Promise<string> {
  return argon2id.hash(password.normalize("NFKC"));
}

export function verifyPassword(hash: string, password: string): Promise<boolean> {
  return argon2id.verify(hash, password.normalize("NFKC"));
}
