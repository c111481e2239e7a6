/** A part of a secret is recognized at the start of a word; a whole one also behind letters and digits, such as those of `%20`. */
const SECRET = /(?:\b|(?=..-[0-9a-z]{40}))(sk|mt)-[0-9a-z]{20,}/gi;
/** A percent-encoded letter, digit or hyphen. It means the same in a URL as the character itself (RFC 3986, section 2.3). */
const ENCODED = /%(2d|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi;

/** True for a text that holds what looks like a key string or a management token. */
export function holdsSecret(text: string): boolean {
  return decoded(text).search(SECRET) >= 0;
}

/**
 * Replaces key strings and management tokens in text that is recorded or logged, because people paste them into wrong places. A text with
 * a percent-encoded one is decoded.
 */
export function withoutSecrets(text: string): string {
  const plain = decoded(text).replace(SECRET, "$1-[redacted]");
  return plain.includes("-[redacted]") ? plain : text;
}

function decoded(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(ENCODED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
