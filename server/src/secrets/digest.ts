import { hash } from "node:crypto";

/**
 * The SHA-256 digest under which a random secret (a key string, a session token) is stored. A secret with this much randomness
 * cannot be guessed and needs no slow hash.
 */
export function digestOf(secret: string): Buffer {
  return Buffer.from(digestTextOf(secret), "base64");
}

/** The digest in base64, at a quarter of the cost. The request path uses it. */
export function digestTextOf(secret: string): string {
  return hash("sha256", secret, "base64");
}
