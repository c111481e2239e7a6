import { hash } from "node:crypto";
import { randomBase62 } from "../secrets/oslo.ts";
import {
  base62,
  bodyOf,
  CHECKSUM_LENGTH,
  isSecretString,
  KEY_PREFIX,
  withChecksum,
} from "../secrets/secret-string.ts";

const RANDOM_LENGTH = 35;
const MAC_LENGTH = 8;

/** The key ID of a key string: its last 4 characters (specification, section 2). */
export function keyIdOf(keyString: string): string {
  return keyString.slice(-4);
}

/** True for text in the form of a key string, whether or not this installation minted it. */
export function isKeyString(text: string): boolean {
  return isSecretString(text, KEY_PREFIX);
}

/**
 * The message authentication code (MAC) in a key string, or in text that ends in one. It tells keys apart and reveals nothing of
 * their random characters. It is not verified.
 */
export function macOf(text: string): string {
  return text.slice(-(MAC_LENGTH + CHECKSUM_LENGTH), -CHECKSUM_LENGTH);
}

/**
 * Mints key strings and recognises its own: `sk-`, 35 random base62 characters (208 bits), 8 of their MAC
 * (47 bits), 6 of CRC-32.
 *
 * Anyone can compute the checksum, but not the MAC. Every node therefore refuses a flood of made-up keys without asking the
 * database.
 */
export class KeyMint {
  readonly #secret: string;

  /** `secret`: the installation's, the same on every node. With another secret all keys are refused. */
  constructor(secret: Uint8Array) {
    this.#secret = Buffer.from(secret).toString("base64");
  }

  mint(): string {
    const random = randomBase62(RANDOM_LENGTH);
    return withChecksum(KEY_PREFIX, random + this.#macOf(random));
  }

  /** Returns whether this installation minted the key string. The key may have been deleted or reissued since. */
  hasMinted(keyString: string): boolean {
    const body = bodyOf(keyString, KEY_PREFIX);
    // The comparison need not take constant time: a guessed MAC only leads to a key that does not exist.
    return body.slice(RANDOM_LENGTH) === this.#macOf(body.slice(0, RANDOM_LENGTH));
  }

  #macOf(random: string): string {
    // Secret and message have fixed lengths and the digest is truncated, so a plain hash is as safe as HMAC (no length
    // extension) at a sixth of the cost. A double holds 48 bits exactly.
    return base62(Number.parseInt(hash("sha256", this.#secret + random, "hex").slice(0, 12), 16), MAC_LENGTH);
  }
}
