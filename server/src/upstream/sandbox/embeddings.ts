import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Json, JsonObject } from "../../json/json.ts";
import { objectOf } from "../../json/members.ts";
import { invalidField } from "./refusal.ts";
import { tokensOf } from "./text.ts";

const DIMENSIONS = 256;
const MAX_DIMENSIONS = 4_096;
/** The maximum of all numbers of an answer: 2,048 texts, as many as a request may have, with 1,024 dimensions. */
const MAX_NUMBERS = 2_048 * 1_024;
/** Other requests get their turn after this many pieces of texts, and after this many numbers. */
const PIECES_AT_ONCE = 1_024;
const NUMBERS_AT_ONCE = 16_384;

/**
 * Computes embeddings by rules: each piece of a text has its own direction, and a text's vector is their sum. The same text
 * always has the same vector, and texts that share words are closer than others.
 */
export async function embeddingsFor(request: unknown): Promise<JsonObject> {
  const { model, input, encoding_format: format, dimensions = null } = objectOf(request);
  if (model !== "embedding") {
    throw invalidField("model", "does not embed. The sandbox model that does is embedding");
  }
  const length = dimensions ?? DIMENSIONS;
  if (typeof length !== "number" || length > MAX_DIMENSIONS) {
    throw invalidField("dimensions", `must be at most ${MAX_DIMENSIONS}`);
  }
  const texts = textsOf(input);
  if (texts.length * length > MAX_NUMBERS) {
    throw invalidField(
      "dimensions",
      `must be at most ${Math.floor(MAX_NUMBERS / texts.length)} for ${texts.length} texts`,
    );
  }
  const data: JsonObject[] = [];
  let tokens = 0;
  let piecesInTurn = 0;
  let numbers = 0;
  for (const [index, text] of texts.entries()) {
    const { vector, pieces } = await embedded(text, length);
    const embedding = format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    data.push({ object: "embedding", index, embedding });
    tokens += pieces;
    numbers += length;
    // Many short texts are together as much work as a long one.
    piecesInTurn += pieces;
    if (piecesInTurn >= PIECES_AT_ONCE || numbers >= NUMBERS_AT_ONCE) {
      piecesInTurn = 0;
      numbers = 0;
      await setImmediate();
    }
  }
  return { object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

/** Arrays of tokens are treated as texts of numbers. */
function textsOf(input: Json | undefined): string[] {
  if (typeof input === "string") return [input];
  if (!Array.isArray(input)) return [];
  if (input.every((value) => typeof value === "number")) return [input.join(" ")];
  return input.map((value: Json) => (Array.isArray(value) ? value.join(" ") : String(value)));
}

/** The vector of a text, of length 1, and the number of the text's pieces. */
async function embedded(
  text: string,
  length: number,
): Promise<{ readonly vector: Float32Array<ArrayBuffer>; readonly pieces: number }> {
  const vector = new Float32Array(length);
  let pieces = 0;
  for (const piece of tokensOf(text)) {
    if (++pieces % PIECES_AT_ONCE === 0) await setImmediate();
    const digest = createHash("sha256").update(piece.trim().toLowerCase()).digest();
    for (let at = 0; at + 4 <= digest.length; at += 4) {
      const position = digest.readUInt16LE(at) % length;
      vector[position] = (vector[position] ?? 0) + digest.readInt16LE(at + 2) / 32_768;
    }
  }
  const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  if (norm === 0) return { vector: vector.fill(1, 0, 1), pieces };
  return { vector: vector.map((value) => value / norm), pieces };
}
