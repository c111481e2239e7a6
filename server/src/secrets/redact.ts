const SECRET = /\b(sk|mt)-[0-9A-Za-z]{20,}/g;

/** True for a text that holds what looks like a key string or a management token. */
export function holdsSecret(text: string): boolean {
  return text.search(SECRET) >= 0;
}

/**
 * Replaces key strings and management tokens in text that is recorded or logged, because people paste them into wrong places.
 */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, "$1-[redacted]");
}
