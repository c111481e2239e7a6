import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4Warning,
} from "@ai-sdk/provider";
import type { Upstream } from "../../catalog/catalog.ts";
import { Failure } from "../../errors/failure.ts";
import { TextTally } from "../../tokens/text-tally.ts";
import { addProduced, producedBy } from "../../tokens/token-estimate.ts";
import {
  type ChatAnswer,
  type ChatCall,
  type Dialect,
  type DialectParts,
  type UpstreamCall,
  UpstreamRefused,
  type WholeAnswer,
} from "../dialect.ts";
import { PROVIDER_FAILED } from "../openai/refusal.ts";
import { toAbortSignal } from "../request-signal.ts";
import { TransportError } from "../transport.ts";
import { callOptionsOf } from "./call-options.ts";
import { type AnswerHead, completionOf, usageOf } from "./completion.ts";
import { ChunkWriter } from "./completion-stream.ts";
import { embeddingsOf, embedOptionsOf } from "./embeddings.ts";
import { errorOf } from "./error.ts";
import { cannot } from "./prompt.ts";
import type { Provider, ProviderSource } from "./provider.ts";
import { CallFetch } from "./transport-fetch.ts";

/** Upstreams with a wire format of their own, through the provider packages of the AI SDK. */
export class AiSdkDialect implements Dialect {
  readonly #parts: DialectParts;
  readonly #source: ProviderSource;
  readonly #creators = new Map<string, ReturnType<ProviderSource["load"]>>();

  constructor(parts: DialectParts, source: ProviderSource) {
    this.#parts = parts;
    this.#source = source;
  }

  async chat(call: ChatCall): Promise<ChatAnswer> {
    const options = callOptionsOf(call.body.value, this.#source.limits, call.maxTokens);
    // Packages ask for more tokens than their caller only with reasoning.
    const guarded = options.reasoning === undefined ? null : call.maxTokens;
    return this.#calling(call, guarded, async (provider, errorOfCall) => {
      const model = provider.languageModel(call.upstreamModel);
      const settings = { ...options, abortSignal: toAbortSignal(call.signal) };
      if (call.stream) return this.#streamed(call, (await model.doStream(settings)).stream, errorOfCall);
      const result = await model.doGenerate(settings);
      if (result.finishReason.unified === "error") throw failedInAnswer();
      const completion = completionOf(result, this.#headOf(call));
      return {
        kind: "whole",
        body: JSON.stringify(completion),
        usage: usageOf(result.usage),
        produced: () => producedBy(completion.choices),
        ignored: ignoredBy(result.warnings),
      };
    });
  }

  async embed(call: UpstreamCall): Promise<WholeAnswer> {
    const options = embedOptionsOf(call.body.value, this.#source.limits);
    return this.#calling(call, null, async (provider) => {
      const model = provider.embeddingModel?.(call.upstreamModel);
      if (model === undefined) throw cannot("model", "does not support embeddings");
      const result = await model.doEmbed({ ...options, abortSignal: toAbortSignal(call.signal) });
      const asBase64 = call.body.value.encoding_format === "base64";
      return embeddingsOf(result, call.publicModel, asBase64, ignoredBy(result.warnings));
    });
  }

  /** Creates a provider for one call, so that an error shows whether anything was sent before it. */
  async #calling<Answer>(
    { upstream }: UpstreamCall,
    maxTokens: number | null,
    use: (provider: Provider, errorOfCall: (thrown: unknown) => unknown) => Promise<Answer>,
  ): Promise<Answer> {
    const create = await this.#creatorOf(upstream);
    const { timeouts, credential, baseUrl } = upstream;
    const call = new CallFetch({ transport: this.#parts.transport, timeouts, maxTokens });
    const errorOfCall = (thrown: unknown) => errorOf(thrown, call.isSent);
    try {
      const provider = create({
        // Without a key, a package would read one from the environment.
        apiKey: credential?.reveal() ?? "none",
        fetch: call.fetch,
        ...(baseUrl === "" ? {} : { baseURL: baseUrl }),
      });
      return await use(provider, errorOfCall);
    } catch (thrown) {
      throw errorOfCall(thrown);
    }
  }

  #streamed(
    call: ChatCall,
    parts: ReadableStream<LanguageModelV4StreamPart>,
    errorOfCall: (thrown: unknown) => unknown,
  ): ChatAnswer {
    const writer = new ChunkWriter(this.#headOf(call), call.includeUsage);
    const produced = new TextTally();
    let ignored: readonly string[] = [];
    const events = async function* (): AsyncGenerator<string> {
      const reader = parts.getReader();
      try {
        while (!writer.isFinished) {
          const { done, value: part } = await reader.read();
          if (done) throw new TransportError("cut", "the upstream's stream ended without a finish");
          if (part.type === "stream-start") ignored = ignoredBy(part.warnings);
          if (part.type === "error") throw part.error;
          if (part.type === "finish") requireFinish(part.finishReason);
          for (const chunk of writer.chunksOf(part)) {
            addProduced(chunk.choices, produced);
            yield `data: ${JSON.stringify(chunk)}\n\n`;
          }
        }
      } catch (thrown) {
        throw errorOfCall(thrown);
      } finally {
        // The reader is cancelled when the client leaves early and after the finish.
        await reader.cancel().catch(() => {});
      }
    };
    const usage = () => (writer.usage === null ? null : usageOf(writer.usage));
    return { kind: "stream", events: events(), usage, produced: () => produced, ignored: () => ignored };
  }

  #headOf({ publicModel }: UpstreamCall): AnswerHead {
    return {
      id: `chatcmpl-${crypto.randomUUID().replaceAll("-", "")}`,
      created: Math.floor(this.#parts.now().getTime() / 1_000),
      model: publicModel,
    };
  }

  #creatorOf(upstream: Upstream): ReturnType<ProviderSource["load"]> {
    const name = this.#source.nameOf(upstream);
    let creator = this.#creators.get(name);
    if (creator === undefined) {
      creator = this.#source.load(name);
      this.#creators.set(name, creator);
      // A failed load is retried, because the package may be installed meanwhile.
      creator.catch(() => this.#creators.delete(name));
    }
    return creator;
  }
}

/** The names of the AI SDK's settings in a request. */
const FIELDS = new Map([
  ["topP", "top_p"],
  ["presencePenalty", "presence_penalty"],
  ["frequencyPenalty", "frequency_penalty"],
  ["stopSequences", "stop"],
  ["responseFormat", "response_format"],
  ["toolChoice", "tool_choice"],
  ["reasoning", "reasoning_effort"],
]);

/** The fields that a package has ignored, except for a maximum beyond the model's own. */
function ignoredBy(warnings: readonly SharedV4Warning[]): readonly string[] {
  return warnings.flatMap((warning) => {
    if (warning.type !== "unsupported" || warning.feature === "maxOutputTokens") return [];
    return [FIELDS.get(warning.feature) ?? warning.feature.replace(/[^\w. -]/g, "")];
  });
}

/** Packages also report a finish, without a raw reason, for streams that were cut off. */
function requireFinish({ unified, raw }: LanguageModelV4FinishReason): void {
  if (unified === "error") throw failedInAnswer();
  if (raw !== undefined || (unified !== "other" && unified !== "interrupted")) return;
  throw new TransportError("cut", "the upstream's stream ended without a finish");
}

function failedInAnswer(): UpstreamRefused {
  return new UpstreamRefused(500, new Failure("upstream_error", PROVIDER_FAILED));
}
