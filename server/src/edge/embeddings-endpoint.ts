import { z } from "zod";
import { chargeFor } from "../credits/price-request.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { TokenEstimator } from "../gateway/token-estimate.ts";
import { BodySchema } from "./body-schema.ts";
import { modelName, requirePlainFields } from "./chat-body.ts";
import { type Endpoint, type EndpointRequest, JSON_HEADERS, type Reply } from "./endpoint.ts";
import { readJsonBody } from "./json-body.ts";
import type { ModelCalls } from "./model-calls.ts";
import { exactPath } from "./routing.ts";

/** As OpenAI bounds it: "Create embeddings" of its API reference. */
const MOST_INPUTS = 2_048;
const text = z.string().min(1, "must not be empty");
const tokens = z.array(z.number().int().min(0)).min(1, "must not be empty");

export const embeddingsBody = new BodySchema({
  model: modelName,
  input: z.union(
    [text, tokens, z.array(text).min(1).max(MOST_INPUTS), z.array(tokens).min(1).max(MOST_INPUTS)],
    {
      error: `must be a text, an array of up to ${MOST_INPUTS} texts, or the same as arrays of tokens`,
    },
  ),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.number().int().min(1).max(1_000_000).nullish(),
});

export interface EmbeddingsParts {
  readonly modelCalls: ModelCalls;
  readonly gateway: Gateway;
  /** Counts tokens where an upstream does not. */
  readonly estimator: TokenEstimator;
  readonly maxBodyBytes: number;
}

/** `POST /v1/embeddings`. */
export class EmbeddingsEndpoint implements Endpoint {
  readonly method = "POST";
  readonly name = "POST /v1/embeddings";
  readonly openedBy = "key";
  readonly match = exactPath("/v1/embeddings");
  readonly #parts: EmbeddingsParts;

  constructor(parts: EmbeddingsParts) {
    this.#parts = parts;
  }

  async answer(request: EndpointRequest): Promise<Reply> {
    const { modelCalls, gateway, estimator, maxBodyBytes } = this.#parts;
    const { body, bytes } = await readJsonBody(request.exchange, maxBodyBytes);
    requirePlainFields(body);
    const { model, input } = embeddingsBody.read(body.value);
    // What is embedded is prompt; there is no answer that would cost.
    const prompts = promptsIn(input);
    const asked = { model, maxTokens: 0, choices: 1, prompts, images: 0, files: 0 };
    return await modelCalls.answer(request, { endpoint: this.name, bytes, asked }, async (call) => {
      const { signal } = request;
      const { answer, upstream } = await gateway.embed({ model: call.model, body, signal });
      const usage = answer.usage ?? (await estimator.usageOf(body.value, answer.produced()));
      return {
        kind: "whole",
        headers: JSON_HEADERS,
        body: answer.body,
        facts: {
          model: call.model.id,
          upstream,
          usage,
          usageSource: answer.usage === null ? "estimated" : "upstream",
          ...chargeFor(call.priced, usage),
          timeToFirstTokenMs: null,
        },
      };
    });
  }
}

/** A text or an array of tokens is one prompt; an array of texts, or of arrays of tokens, as many as it has elements. */
function promptsIn(input: unknown): number {
  return Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
}
