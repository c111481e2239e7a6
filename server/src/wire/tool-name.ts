import { createHash } from "node:crypto";

/** The longest name of a tool that all providers accept. */
export const MAX_TOOL_NAME_LENGTH = 64;
const HASH_LENGTH = 8;

/** A name within the maximum, with a hash. It is the same in each request, so that providers can cache the prompt. */
export function hashedName(plain: string, source: string): string {
  const hash = createHash("sha256").update(source).digest("hex").slice(0, HASH_LENGTH);
  return `${plain.slice(0, MAX_TOOL_NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
