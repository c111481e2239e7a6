/** A whole key or management token, such as one that was pasted with its header. */
const SECRET = /\b(?:sk|mt)-[0-9a-z]{12,}/i;

/**
 * What a typed or pasted text is searched for. Searches are part of addresses and requests, so that of a whole key only its last four
 * characters remain. Where pages show these, an ellipsis is before them.
 */
export function searchTextOf(text: string): string {
  return SECRET.exec(text)?.[0].slice(-4) ?? text.trim().replace(/^…/, "");
}
