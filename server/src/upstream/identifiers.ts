import { createHash } from "node:crypto";

const HASH_LENGTH = 32;
/** What servers with the strictest rules take in an identifier, within the length that all take. */
const PLAIN = /^[a-zA-Z0-9_-]{1,64}$/;

/** An identifier that the upstream need not understand, of letters, digits and hyphens. Any other is replaced by its hash. */
export function plainIdentifier(identifier: string): string {
  return PLAIN.test(identifier) ? identifier : hashOf(identifier);
}

/** 32 hexadecimal digits that stand for a text. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
}
