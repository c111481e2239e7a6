import { hash } from "node:crypto";
import { randomBase62 } from "../secrets/oslo.ts";
import { base62, bodyOf, isSecretString, KEY_PREFIX, withChecksum } from "../secrets/secret-string.ts";

const RANDOM_LENGTH = 35;
const MAC_LENGTH = 8;

/** The key ID of a key string: its last 4 characters (specification, section 2). */
export function keyIdOf(keyString: string): string {
  return keyString.slice(-4);
}

/** True for a text in the form of a key string, made here or not. */
export function isKeyString(text: string): boolean {
  return isSecretString(text, KEY_PREFIX);
}

/**
 * Makes key strings and hasMinted its own: `sk-`, 35 random base62 characters (208 bits), 8 more that are their
 * keyed hash (47 bits), 6 of CRC-32.
 *
 * Anybody can compute the checksum. The mark they can't: a flood of made-up keys is therefore refused without asking
 * the database, on every node, whatever the addresses it comes from.
 */
export class KeyMint {
  readonly #secret: string;

  /** `secret`: the installation's, the same on every node for as long as its keys are to hold. */
  constructor(secret: Uint8Array) {
    this.#secret = Buffer.from(secret).toString("base64");
  }

  mint(): string {
    const random = randomBase62(RANDOM_LENGTH);
    return withChecksum(KEY_PREFIX, random + this.#macOf(random));
  }

  /** Whether this installation minted the key string. It may still be nobody's any more. */
  hasMinted(keyString: string): boolean {
    const body = bodyOf(keyString, KEY_PREFIX);
    // No secret is compared here: who finds a mark by trying has found that a key does not exist.
    return body.slice(RANDOM_LENGTH) === this.#macOf(body.slice(0, RANDOM_LENGTH));
  }

  #macOf(random: string): string {
    // Of secret and message, both of one length, a plain hash is as good as HMAC where only a part of it shows: there
    // is nothing to extend. It costs a sixth. 48 bits are a whole number that a double holds.
    return base62(Number.parseInt(hash("sha256", this.#secret + random, "hex").slice(0, 12), 16), MAC_LENGTH);
  }
}
