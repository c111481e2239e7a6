import { cannot, NOTHING_TO_READ, type Turn } from "../conversation/conversation.ts";

/**
 * Requires that something is left to be answered. Items and blocks without equivalent elsewhere are left out, and a thought or an
 * image of a model alone says nothing to a model of another provider.
 *
 * @param turns what was read of the field, without the instructions beside it.
 * @throws {Failure} `invalid_request` naming the field.
 */
export function requireContent(turns: readonly Turn[], field: string): void {
  const isLeft = turns.some(({ role, parts }) =>
    parts.some(({ kind }) => kind !== "reasoning" && (role !== "assistant" || kind !== "image")),
  );
  if (!isLeft) throw cannot(field, NOTHING_TO_READ);
}
