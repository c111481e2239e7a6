const SECRET = /\b(sk|mt)-[0-9A-Za-z]{20,}/g;

/** True for a text that holds what looks like a key string or a management token. */
export function holdsSecret(text: string): boolean {
  return text.search(SECRET) >= 0;
}

/**
 * The text with key strings and management tokens cut down to what they are: people paste them where they do not
 * belong, and what is recorded or logged is read by others.
 */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, "$1-[redacted]");
}
