/** A key for one action of the user, so that a retry after a lost answer does not repeat it. */
export function newIdempotencyKey(): string {
  // Browsers do not offer `randomUUID` to pages loaded over plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
