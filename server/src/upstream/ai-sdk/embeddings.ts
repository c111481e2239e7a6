import type { EmbeddingModelV4CallOptions, EmbeddingModelV4Result } from "@ai-sdk/provider";
import { cannot } from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type { WholeAnswer } from "../dialect.ts";
import type { ProviderLimits } from "./provider.ts";

/** @throws {Failure} `invalid_request` naming what can't be expressed. */
export function embedOptionsOf(body: JsonObject, limits: ProviderLimits): EmbeddingModelV4CallOptions {
  const { input, dimensions } = body;
  const values = Array.isArray(input) ? input : [input];
  if (!values.every((value): value is string => typeof value === "string")) {
    throw cannot("input", "must be a text or an array of texts for this model");
  }
  if (dimensions === undefined || dimensions === null) return { values: [...values] };
  const { dimensionsOption, optionsName } = limits;
  if (dimensionsOption === null || typeof dimensions !== "number") {
    throw cannot("dimensions", "is not supported by this model's provider; remove it");
  }
  return { values: [...values], providerOptions: { [optionsName]: { [dimensionsOption]: dimensions } } };
}

/** An answer as OpenAI has it: numbers, or the bytes of 32-bit floats in base64. */
export function embeddingsOf(
  { embeddings, usage }: EmbeddingModelV4Result,
  model: string,
  asBase64: boolean,
  ignored: readonly string[],
): WholeAnswer {
  const tokens = usage?.tokens ?? null;
  const data = embeddings.map((embedding, index) => ({
    object: "embedding",
    index,
    embedding: asBase64 ? Buffer.from(new Float32Array(embedding).buffer).toString("base64") : embedding,
  }));
  const usageField = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } };
  return {
    kind: "whole",
    body: JSON.stringify({ object: "list", data, model, ...usageField }),
    usage: tokens === null ? null : { promptTokens: tokens, completionTokens: 0, cachedTokens: 0 },
    produced: () => new TextTally(),
    ignored,
  };
}
