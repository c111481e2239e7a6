/** A part of a secret is recognized at the start of a word; a whole one also behind letters and digits, such as those of `%20`. */
const SECRET = /(?:\b|(?=..(?:-|%2d)[0-9a-z]{40}))(sk|mt)(?:-|%2d)[0-9a-z]{20,}/gi;

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
