import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4Warning,
} from "@ai-sdk/provider";
import type { Upstream } from "../../catalog/catalog.ts";
import type { AnswerEvent } from "../../conversation/answer.ts";
import { type Conversation, cannot, nameOf } from "../../conversation/conversation.ts";
import { Failure } from "../../errors/failure.ts";
import {
  type ConversationAnswer,
  type ConversationCall,
  type Dialect,
  type DialectParts,
  type EmbedCall,
  type UpstreamCall,
  UpstreamRefused,
  type WholeAnswer,
} from "../dialect.ts";
import { leftOutOf } from "../expressible.ts";
import { withOptionalReasoning } from "../optional-reasoning.ts";
import { PROVIDER_FAILED } from "../refusal.ts";
import { toAbortSignal } from "../request-signal.ts";
import { TransportError } from "../transport.ts";
import { eventsOfResult, PartReader } from "./answer-events.ts";
import { callOptionsOf } from "./call-options.ts";
import { embeddingsOf, embedOptionsOf } from "./embeddings.ts";
import { errorOf } from "./error.ts";
import type { Provider, ProviderSettings, ProviderSource } from "./provider.ts";
import { CallFetch, type PaidTokens } from "./transport-fetch.ts";

/** Upstreams with a wire format of their own, through the provider packages of the AI SDK. */
export class AiSdkDialect implements Dialect {
  readonly own = null;
  readonly #parts: DialectParts;
  readonly #source: ProviderSource;
  readonly #creators = new Map<string, ReturnType<ProviderSource["load"]>>();

  constructor(parts: DialectParts, source: ProviderSource) {
    this.#parts = parts;
    this.#source = source;
  }

  converse(call: ConversationCall): Promise<ConversationAnswer> {
    return withOptionalReasoning(call, (asked) => this.#converse(asked));
  }

  async #converse(call: ConversationCall): Promise<ConversationAnswer> {
    const { conversation } = call;
    const { limits } = this.#source;
    const options = callOptionsOf(conversation, limits, call.maxTokens);
    const leftOut = leftOutOf(conversation, limits);
    // Packages ask for more tokens than their caller only with reasoning.
    const paid = conversation.reasoning === null ? null : paidTokensOf(call);
    return this.#calling(call, paid, async (provider, errorOfCall) => {
      const model = provider.languageModel(call.upstreamModel);
      const settings = { ...options, abortSignal: toAbortSignal(call.signal) };
      if (call.stream) {
        const answer = streamed((await model.doStream(settings)).stream, conversation, errorOfCall);
        return { ...answer, ignored: () => [...leftOut, ...answer.ignored()] };
      }
      const result = await model.doGenerate(settings);
      if (result.finishReason.unified === "error") throw failedInAnswer();
      const ignored = [...leftOut, ...ignoredBy(result.warnings, conversation)];
      return { events: eventsOfResult(result), ignored: () => ignored };
    });
  }

  async embed(call: EmbedCall): Promise<WholeAnswer> {
    const options = embedOptionsOf(call.body.value, this.#source.limits);
    return this.#calling(call, null, async (provider) => {
      const model = provider.embeddingModel?.(call.upstreamModel);
      if (model === undefined) throw cannot("model", "does not support embeddings");
      const result = await model.doEmbed({ ...options, abortSignal: toAbortSignal(call.signal) });
      const asBase64 = call.body.value.encoding_format === "base64";
      return embeddingsOf(result, call.publicModel, asBase64, namesIn(result.warnings));
    });
  }

  /** Creates a provider for one call, so that an error shows whether anything was sent before it. */
  async #calling<Answer>(
    { upstream }: UpstreamCall,
    paid: PaidTokens | null,
    use: (provider: Provider, errorOfCall: (thrown: unknown) => unknown) => Promise<Answer>,
  ): Promise<Answer> {
    const create = await this.#creatorOf(upstream);
    const { timeouts, credential, baseUrl } = upstream;
    const call = new CallFetch({ transport: this.#parts.transport, timeouts, paid });
    const errorOfCall = (thrown: unknown) => errorOf(thrown, call.isSent);
    try {
      return await use(create(this.#settingsOf(credential, baseUrl, call.fetch)), errorOfCall);
    } catch (thrown) {
      throw errorOfCall(thrown);
    }
  }

  /** What is left out, a package would read from the environment. */
  #settingsOf(credential: Upstream["credential"], baseUrl: string, send: typeof fetch): ProviderSettings {
    const url = baseUrl === "" ? (this.#source.defaultBaseUrl ?? "") : baseUrl;
    const apiKey = credential?.reveal() ?? "none";
    return { apiKey, fetch: send, ...(url === "" ? {} : { baseURL: url }) };
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

function paidTokensOf({ maxTokens, conversation }: ConversationCall): PaidTokens | null {
  if (maxTokens === null) return null;
  const names = {
    reasoning: nameOf(conversation, "reasoning"),
    maxTokens: nameOf(conversation, "maxTokens"),
  };
  return { maxTokens, names };
}

function streamed(
  parts: ReadableStream<LanguageModelV4StreamPart>,
  conversation: Conversation,
  errorOfCall: (thrown: unknown) => unknown,
): ConversationAnswer {
  const answer = new PartReader();
  let ignored: readonly string[] = [];
  const events = async function* (): AsyncGenerator<AnswerEvent> {
    const reader = parts.getReader();
    try {
      while (!answer.isFinished) {
        const { done, value: part } = await reader.read();
        if (done) throw new TransportError("cut", "the upstream's stream ended without a finish");
        if (part.type === "stream-start") ignored = ignoredBy(part.warnings, conversation);
        if (part.type === "error") throw part.error;
        if (part.type === "finish") requireFinish(part.finishReason);
        yield* answer.eventsOf(part);
      }
    } catch (thrown) {
      throw errorOfCall(thrown);
    } finally {
      // The reader is cancelled when the client leaves early and after the finish.
      await reader.cancel().catch(() => {});
    }
  };
  return { events: events(), ignored: () => ignored };
}

/** The AI SDK's settings, and the fields of a conversation that they come from. */
const FIELDS = new Map<string, keyof Conversation>([
  ["topP", "topP"],
  ["topK", "topK"],
  ["presencePenalty", "presencePenalty"],
  ["frequencyPenalty", "frequencyPenalty"],
  ["stopSequences", "stop"],
  ["responseFormat", "format"],
  ["toolChoice", "toolChoice"],
  ["reasoning", "reasoning"],
]);

/** The fields that a package has ignored, by the client's names, except for a maximum beyond the model's own. */
function ignoredBy(warnings: readonly SharedV4Warning[], conversation: Conversation): readonly string[] {
  return namesIn(warnings).map((name) => {
    const field = FIELDS.get(name);
    return field === undefined ? name : nameOf(conversation, field);
  });
}

function namesIn(warnings: readonly SharedV4Warning[]): readonly string[] {
  return warnings.flatMap((warning) =>
    warning.type !== "unsupported" || warning.feature === "maxOutputTokens"
      ? []
      : [warning.feature.replace(/[^\w. -]/g, "")],
  );
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
