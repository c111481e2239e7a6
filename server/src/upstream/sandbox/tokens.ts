/**
 * The sandbox's own tokens: pieces of at most four characters that never span white space, each with the white space
 * before it. Linear in the text's length.
 */
export function* tokensOf(text: string): Generator<string> {
  for (const [piece] of text.matchAll(/\s*\S{1,4}|\s+/g)) yield piece;
}

export function countTokens(text: string): number {
  let count = 0;
  for (const _ of tokensOf(text)) count++;
  return count;
}
