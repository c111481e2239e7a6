import * as z from "zod";
import { chargeFor } from "../credits/request-cost.ts";
import { JsonBody } from "../json/json-body.ts";
import { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { bodySchema, modelName } from "./body-schema.ts";
import { invalid } from "./invalid-field.ts";
import { modelAnswer } from "./openapi-answers.ts";
import { body, errors, IDEMPOTENCY_KEY, MODEL_ERRORS, schemaOf } from "./openapi-parts.ts";
import type { ModelCall, ModelOperation, ModelUse } from "./operation.ts";
import { JSON_HEADERS, type Reply } from "./reply.ts";
import { type ModelOperationParts, rethrowCounted } from "./run-answer.ts";

/** As OpenAI bounds it: "Create embeddings" of its API reference. */
const MAX_INPUTS = 2_048;
const INPUT_ERROR = `must be a text, an array of up to ${MAX_INPUTS} texts, or the same as arrays of tokens`;
const text = z.string().min(1, "must not be empty");
const tokens = z.array(z.number().int().min(0)).min(1, "must not be empty");
const fields = {
  model: modelName,
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.number().int().min(1).max(1_000_000).nullish(),
};

/** The schema for the OpenAPI document. It is not used to validate, because it would report each of millions of wrong tokens. */
const embeddingsBody = bodySchema({
  ...fields,
  input: z.union([
    text,
    tokens,
    z.array(text).min(1).max(MAX_INPUTS),
    z.array(tokens).min(1).max(MAX_INPUTS),
  ]),
});
/** {@link isInput} validates the input. */
const checkedBody = bodySchema({ ...fields, input: z.unknown() });

interface EmbeddingsInput extends ModelUse {
  readonly maxTokens: 0;
}

/** `POST /v1/embeddings`. */
export function embeddings(parts: ModelOperationParts): ModelOperation<EmbeddingsInput> {
  return {
    kind: "model",
    method: "POST",
    path: "/v1/embeddings",
    auth: "key",
    openapi: () => ({
      operationId: "createEmbeddings",
      summary: "Embeds texts",
      parameters: [IDEMPOTENCY_KEY],
      requestBody: body(schemaOf(embeddingsBody.schema)),
      responses: {
        200: modelAnswer("Embeddings", "As OpenAI's embeddings", { isStreamable: false }),
        ...errors(MODEL_ERRORS),
      },
    }),
    maxBodyBytes: parts.maxBodyBytes,
    outputTokenFields: [],
    read: readEmbeddings,
    run: (call) => runEmbeddings(parts, call),
  };
}

function readEmbeddings(body: JsonBody): EmbeddingsInput {
  const { model, input } = checkedBody.read(body);
  if (!isInput(input)) throw invalid("input", INPUT_ERROR);
  // Only the prompt is charged: an embedding has no output tokens.
  return { model, maxTokens: 0, choices: 1, prompts: promptsIn(input), images: 0, files: 0 };
}

async function runEmbeddings(
  { gateway, estimator }: ModelOperationParts,
  { body, paid: { costBasis }, signal, accountId, memory }: ModelCall<EmbeddingsInput>,
): Promise<Reply> {
  const { model } = costBasis;
  const { answer, upstream } = await gateway
    .embed({ model, body, signal, accountId, memory })
    .catch((thrown: unknown) =>
      rethrowCounted(thrown, signal, () => estimator.usageOf(body.value, new TextTally())),
    );
  // Servers that do not count report 0.
  const counted = answer.usage?.promptTokens === 0 ? null : answer.usage;
  const usage = counted ?? (await estimator.usageOf(body.value, answer.produced()));
  return {
    kind: "whole",
    headers: JSON_HEADERS,
    body: answer.usage === null ? bodyWith(usage, answer.body) : answer.body,
    facts: {
      model: model.id,
      upstream,
      usage,
      usageSource: counted === null ? "estimated" : "upstream",
      ...chargeFor(costBasis, usage),
      timeToFirstTokenMs: null,
    },
  };
}

/** An answer whose upstream does not count, with the service's count. OpenAI's libraries declare the usage as always there, and clients read it. */
function bodyWith({ promptTokens }: Usage, body: string): string {
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  return JsonBody.parse(body)?.textWith({ usage }) ?? body;
}

/** As {@link embeddingsBody} describes it. */
function isInput(input: unknown): boolean {
  if (!Array.isArray(input)) return isText(input);
  if (typeof input[0] === "number") return isArrayOfTokens(input);
  const isOneOfThem = Array.isArray(input[0]) ? isArrayOfTokens : isText;
  return input.length > 0 && input.length <= MAX_INPUTS && input.every(isOneOfThem);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isArrayOfTokens(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((token) => Number.isSafeInteger(token) && token >= 0);
}

/** A text or an array of tokens is one prompt; an array of texts, or of arrays of tokens, as many as it has elements. */
function promptsIn(input: unknown): number {
  return Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
}
