import { crc32 } from "node:zlib";
import { randomBase62 } from "./oslo.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY_LENGTH = 43;
export const CHECKSUM_LENGTH = 6;
const SHAPE = /^[0-9A-Za-z]{49}$/;

export const KEY_PREFIX = "sk-";
export const TOKEN_PREFIX = "mt-";

/**
 * A new secret: a prefix that says what it is, 43 random base62 characters (256 bits), 6 base62 characters of their
 * CRC-32. The checksum lets the service refuse a typo without a look-up and lets secret scanners verify a find.
 */
export function mintSecretString(prefix: string): string {
  return withChecksum(prefix, randomBase62(BODY_LENGTH));
}

/** A secret string around a given body of 43 base62 characters. */
export function withChecksum(prefix: string, body: string): string {
  return `${prefix}${body}${base62(crc32(body), CHECKSUM_LENGTH)}`;
}

/** True for what {@link mintSecretString} could have made. */
export function isSecretString(text: string, prefix: string): boolean {
  if (!text.startsWith(prefix) || !SHAPE.test(text.slice(prefix.length))) return false;
  return text === withChecksum(prefix, bodyOf(text, prefix));
}

/** The part between prefix and checksum. */
export function bodyOf(text: string, prefix: string): string {
  return text.slice(prefix.length, prefix.length + BODY_LENGTH);
}

/** A whole number in base62, its lowest `length` digits. */
export function base62(value: number, length: number): string {
  let rest = value;
  let text = "";
  for (let place = 0; place < length; place++) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
