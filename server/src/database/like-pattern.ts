/** Escapes a text for a pattern of `like`, so that its special characters match themselves. */
export function escapedForLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
