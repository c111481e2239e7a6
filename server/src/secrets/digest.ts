import { createHash } from "node:crypto";

/**
 * SHA-256 of a secret with 256 bits of its own randomness (a key string, a session's token): what is kept at
 * rest. Such secrets need no slow hash, there is nothing to guess.
 */
export function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
