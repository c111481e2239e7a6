/** The SHA-256 digest of bytes. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** The SHA-256 digest of a text in UTF-8. */
export function sha256OfText(text: string): Promise<Uint8Array> {
  return sha256(new TextEncoder().encode(text));
}

/** Bytes as hexadecimal digits in lower case. */
function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes that hexadecimal digits stand for. */
export function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** The digest of a link of a chain, in hexadecimal digits: of the previous digest, followed by the link's content. */
export async function linkDigest(previous: string, content: Uint8Array): Promise<string> {
  return hexOf(await sha256(new Uint8Array([...bytesOfHex(previous), ...content])));
}
