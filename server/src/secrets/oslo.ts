// Only this file and argon2.ts import oslo, so that it can be replaced in one place: it is not maintained. Nothing here is called on the request
// path, because a random string costs 0.3 ms.
import { TimeSpan } from "oslo";
import { Cookie } from "oslo/cookie";
import { alphabet, generateRandomString } from "oslo/crypto";

export { Cookie, TimeSpan };

const BASE62 = alphabet("0-9", "A-Z", "a-z");

/** Uniformly random characters of `0-9A-Za-z`, from the system's cryptographic source. */
export function randomBase62(length: number): string {
  return generateRandomString(length, BASE62);
}
