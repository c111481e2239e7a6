import { cannot } from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { unsupported } from "../conversation-limits.ts";
import type { EmbedCall, WholeAnswer } from "../dialect.ts";
import { asksForBase64, base64Of, isVector } from "../embedding-encoding.ts";
import { malformedResponse } from "../refusal.ts";
import { totalUsage } from "../usage-counts.ts";
import { given } from "../write-conversation.ts";
import { modelPath } from "./models.ts";
import { readContentUsage } from "./usage.ts";

/** The texts that Google embeds in one request. OpenAI takes 2,048, and clients send hundreds. */
const MAX_TEXTS = 100;
/** Fields that are translated, or that say nothing about the answer. Any other one may ask for another embedding. */
const FIELDS = new Set(["model", "input", "dimensions", "encoding_format", "user"]);

interface EmbedRequest {
  readonly method: "embedContent" | "batchEmbedContents";
  readonly body: JsonObject;
  /** How many embeddings the answer has to have. */
  readonly count: number;
}

/** What one request has embedded. */
export interface Embedded {
  readonly vectors: readonly (string | readonly number[])[];
  readonly usage: Usage | null;
}

/** The requests that together embed all texts. @throws {Failure} `invalid_request` naming what can't be expressed. */
export function embedRequestsOf({ body, upstreamModel }: EmbedCall): readonly EmbedRequest[] {
  for (const [name, value] of Object.entries(body.value)) {
    if (!FIELDS.has(name) && value !== null) throw unsupported(name);
  }
  const texts = textsOf(body.value.input);
  const { dimensions = null } = body.value;
  if (dimensions !== null && typeof dimensions !== "number") {
    throw cannot("dimensions", "is not supported by this model's provider; remove it");
  }
  const requests = texts.map((text) => ({
    model: modelPath(upstreamModel),
    content: { parts: [{ text }] },
    outputDimensionality: given(dimensions),
  }));
  const groups = Math.ceil(requests.length / MAX_TEXTS);
  return Array.from({ length: groups }, (_, group) =>
    requestOf(requests.slice(group * MAX_TEXTS, (group + 1) * MAX_TEXTS)),
  );
}

function requestOf(requests: readonly JsonObject[]): EmbedRequest {
  const [only] = requests;
  return only !== undefined && requests.length === 1
    ? { method: "embedContent", body: only, count: 1 }
    : { method: "batchEmbedContents", body: { requests }, count: requests.length };
}

function textsOf(input: Json | undefined): readonly string[] {
  const texts: readonly (Json | undefined)[] = Array.isArray(input) ? input : [input];
  if (!texts.every((text): text is string => typeof text === "string")) {
    throw cannot("input", "must be a text or an array of texts for this model");
  }
  return texts;
}

/** Reads the embeddings of an answer: numbers, or the bytes of 32-bit floats in base64. @throws {UpstreamRefused} for a malformed one. */
export function embeddedIn(text: string, count: number, { body }: EmbedCall): Embedded {
  const answer = parseJsonObject(text);
  if (answer === null) throw malformedResponse();
  const { embedding, embeddings, usageMetadata } = answer;
  const found: readonly Json[] = Array.isArray(embeddings) ? embeddings : [embedding ?? null];
  if (found.length !== count) throw malformedResponse();
  const asBase64 = asksForBase64(body.value);
  const isShortened = (body.value.dimensions ?? null) !== null;
  const vectors = found.map((item) => {
    const values = isShortened ? withLengthOne(valuesOf(item)) : valuesOf(item);
    return asBase64 ? base64Of(values) : values;
  });
  return { vectors, usage: readContentUsage(usageMetadata) };
}

/** The answer as OpenAI has it. */
export function embeddingsOf(embedded: readonly Embedded[], { publicModel }: EmbedCall): WholeAnswer {
  const data = embedded
    .flatMap(({ vectors }) => vectors)
    .map((embedding, index) => ({ object: "embedding", index, embedding }));
  const usage = totalUsage(embedded.map((one) => one.usage));
  const written =
    usage === null ? {} : { usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } };
  return {
    kind: "whole",
    body: JSON.stringify({ object: "list", data, model: publicModel, ...written }),
    usage,
    produced: () => new TextTally(),
    ignored: [],
  };
}

/** As OpenAI's embeddings are, whose clients compare them by their dot products. Google's are not if they have fewer dimensions than usual. */
function withLengthOne(values: readonly number[]): readonly number[] {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? values : values.map((value) => value / length);
}

function valuesOf(item: Json): readonly number[] {
  const values = isJsonObject(item) ? item.values : null;
  if (!isVector(values)) throw malformedResponse();
  return values;
}
