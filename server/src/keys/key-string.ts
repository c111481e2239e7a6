import { crc32 } from "node:zlib";
import { randomBase62 } from "../secrets/oslo.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const SHAPE = /^sk-[0-9A-Za-z]{49}$/;

/**
 * A new key string: `sk-`, 43 random base62 characters (256 bits), 6 base62 characters of their CRC-32. The
 * checksum lets the service refuse a typo without a look-up and lets secret scanners verify a find.
 */
export function mintKeyString(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `sk-${random}${checksumOf(random)}`;
}

/** True for what {@link mintKeyString} could have made. */
export function isKeyString(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const random = text.slice(3, 3 + RANDOM_LENGTH);
  return text.endsWith(checksumOf(random));
}

/** The key ID of a key string: its last 4 characters (specification, section 2). */
export function keyIdOf(keyString: string): string {
  return keyString.slice(-4);
}

function checksumOf(random: string): string {
  let rest = crc32(random);
  let text = "";
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
