import type { Json, JsonObject } from "../json/json.ts";

/** Whether a client asks for embeddings in base64, as OpenAI's libraries do by default. */
export function asksForBase64({ encoding_format: format }: JsonObject): boolean {
  return format === "base64";
}

/** An embedding as OpenAI writes it in base64: the bytes of 32-bit floats. */
export function base64Of(values: readonly number[]): string {
  return Buffer.from(new Float32Array(values).buffer).toString("base64");
}

export function isVector(value: Json | undefined): value is readonly number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number");
}
