import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4Warning,
} from "@ai-sdk/provider";
import type { Upstream } from "../../catalog/catalog.ts";
import { Failure } from "../../errors/failure.ts";
import {
  type ChatAnswer,
  type ChatCall,
  type Dialect,
  type UpstreamCall,
  UpstreamRefused,
  type WholeAnswer,
} from "../../gateway/dialect.ts";
import type { JsonObject } from "../../gateway/json.ts";
import { TextTally } from "../../gateway/text-tally.ts";
import { addProduced } from "../../gateway/token-estimate.ts";
import { type Transport, TransportError } from "../transport.ts";
import { callOptionsOf } from "./call-options.ts";
import { type AnswerHead, completionOf, usageOf } from "./completion.ts";
import { ChunkWriter } from "./completion-stream.ts";
import { embeddingsOf, embedOptionsOf } from "./embeddings.ts";
import { errorOf } from "./error.ts";
import { cannot } from "./prompt.ts";
import { limitsOf, loadProvider, type Provider } from "./provider.ts";
import { fetchOver } from "./transport-fetch.ts";

export interface AiSdkDialectParts {
  readonly transport: Transport;
  readonly now: () => Date;
}

/** Upstreams with a wire format of their own, through the provider packages of the AI SDK. */
export class AiSdkDialect implements Dialect {
  readonly #parts: AiSdkDialectParts;
  readonly #providers = new WeakMap<Upstream, Promise<Provider>>();

  constructor(parts: AiSdkDialectParts) {
    this.#parts = parts;
  }

  async chat(call: ChatCall): Promise<ChatAnswer> {
    const options = callOptionsOf(call.body.value, limitsOf(call.upstream));
    try {
      const model = (await this.#providerOf(call.upstream)).languageModel(call.upstreamModel);
      const asked = { ...options, abortSignal: call.signal };
      if (call.stream) return this.#streamed(call, (await model.doStream(asked)).stream);
      const result = await model.doGenerate(asked);
      requireNothingDropped(result.warnings);
      if (result.finishReason.unified === "error") throw failedInAnswer();
      const completion = completionOf(result, this.#headOf(call));
      return {
        kind: "whole",
        body: JSON.stringify(completion),
        usage: usageOf(result.usage),
        produced: () => tallyOf(completion),
      };
    } catch (thrown) {
      throw errorOf(thrown);
    }
  }

  async embed(call: UpstreamCall): Promise<WholeAnswer> {
    const options = embedOptionsOf(call.body.value, limitsOf(call.upstream));
    try {
      const provider = await this.#providerOf(call.upstream);
      const model = provider.embeddingModel?.(call.upstreamModel);
      if (model === undefined) throw cannot("model", "its server can't embed");
      const result = await model.doEmbed({ ...options, abortSignal: call.signal });
      requireNothingDropped(result.warnings);
      return embeddingsOf(result, call.publicModel, call.body.value.encoding_format === "base64");
    } catch (thrown) {
      throw errorOf(thrown);
    }
  }

  #streamed(call: ChatCall, parts: ReadableStream<LanguageModelV4StreamPart>): ChatAnswer {
    const writer = new ChunkWriter(this.#headOf(call), call.includeUsage);
    const produced = new TextTally();
    const events = async function* (): AsyncGenerator<string> {
      const reader = parts.getReader();
      try {
        for (;;) {
          const { done, value: part } = await reader.read();
          if (done) break;
          if (part.type === "stream-start") requireNothingDropped(part.warnings);
          if (part.type === "error") throw part.error;
          if (part.type === "finish") requireFinish(part.finishReason);
          for (const chunk of writer.chunksOf(part)) {
            addProduced(chunk.choices, produced);
            yield `data: ${JSON.stringify(chunk)}\n\n`;
          }
        }
        if (!writer.isFinished)
          throw new TransportError("cut", "the upstream's stream ended without a finish");
      } catch (thrown) {
        throw errorOf(thrown);
      } finally {
        // Whoever leaves early wants no more of it.
        await reader.cancel().catch(() => {});
      }
    };
    const usage = () => (writer.usage === null ? null : usageOf(writer.usage));
    return { kind: "stream", events: events(), usage, produced: () => produced };
  }

  #headOf({ publicModel }: UpstreamCall): AnswerHead {
    return {
      id: `chatcmpl-${crypto.randomUUID().replaceAll("-", "")}`,
      created: Math.floor(this.#parts.now().getTime() / 1_000),
      model: publicModel,
    };
  }

  #providerOf(upstream: Upstream): Promise<Provider> {
    let provider = this.#providers.get(upstream);
    if (provider === undefined) {
      provider = loadProvider(upstream, {
        // Without one of ours, a package would look for one of its own in the environment.
        apiKey: upstream.credential?.reveal() ?? "none",
        fetch: fetchOver(this.#parts.transport, upstream.timeouts),
        ...(upstream.baseUrl === "" ? {} : { baseURL: upstream.baseUrl }),
      });
      this.#providers.set(upstream, provider);
    }
    return provider;
  }
}

/** What the AI SDK's settings are called in a request. */
const FIELDS: Readonly<Record<string, string>> = {
  maxOutputTokens: "max_tokens",
  topP: "top_p",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  stopSequences: "stop",
  responseFormat: "response_format",
  toolChoice: "tool_choice",
  reasoning: "reasoning_effort",
};

/** What a package did not know before it asked: nothing of the answer has gone out by then. */
function requireNothingDropped(warnings: readonly SharedV4Warning[]): void {
  for (const warning of warnings) {
    if (warning.type !== "unsupported") continue;
    const feature = FIELDS[warning.feature] ?? warning.feature;
    throw new Failure("invalid_request", `${feature}: this model's server can't be told; leave it out`, {
      param: feature,
    });
  }
}

/** Packages finish streams that have merely ended, for no reason that anybody has told. */
function requireFinish({ unified, raw }: LanguageModelV4FinishReason): void {
  if (unified === "error") throw failedInAnswer();
  if (raw !== undefined || (unified !== "other" && unified !== "interrupted")) return;
  throw new TransportError("cut", "the upstream's stream ended without a finish");
}

function failedInAnswer(): UpstreamRefused {
  const message = "The model's server failed. Try again, or choose another model.";
  return new UpstreamRefused(500, new Failure("upstream_error", message));
}

function tallyOf(completion: JsonObject): TextTally {
  const tally = new TextTally();
  addProduced(completion.choices, tally);
  return tally;
}
