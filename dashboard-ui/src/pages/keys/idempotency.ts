/** Names one act of a person, so that trying it again after a lost answer does not do it twice. */
export function newIdempotencyKey(): string {
  // Not `randomUUID`, which a browser keeps from pages that were loaded over plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
