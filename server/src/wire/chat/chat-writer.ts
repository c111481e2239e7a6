import type { AnswerEvent, Citation, FinishReason, TokenLogprob } from "../../conversation/answer.ts";
import { CallIds } from "../../conversation/call-ids.ts";
import { chatUsageOf } from "../../conversation/chat-format.ts";
import { CHAT_CONTROL_EVENTS, LAST_CHUNK } from "../../conversation/control-events.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { urlOf } from "../../conversation/media.ts";
import type { AnswerHead, AnswerWriter } from "../../conversation/wire.ts";
import { CallInputs } from "../../json/call-inputs.ts";
import type { Json, JsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { CustomInput } from "../custom-input.ts";
import type { ThoughtList } from "./thought-list.ts";

const FINISH: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  length: "length",
  calls: "tool_calls",
  filter: "content_filter",
};

const NO_LOGPROBS: readonly TokenLogprob[] = [];

interface Call {
  readonly id: string;
  readonly name: string;
  input: string;
  readonly signature: Signature | null;
  /** The text that the input is decoded to, for a custom tool. */
  readonly custom: CustomInput | null;
}

interface ChatWriterOptions {
  /** Whether the chunks end with one for the usage. */
  readonly includeUsage: boolean;
  /** The members of a message in which the client reads thoughts; none if it does not want to see them. */
  readonly thoughtMembers: readonly string[];
  /** The list in which the client reads thoughts, too, and sends them back; `null`: it has none. */
  readonly thoughtList: ThoughtList | null;
  /** The names of the tools whose input the client has as plain text. */
  readonly customTools: ReadonlySet<string>;
}

/** Writes an answer as a chat completion, or as its chunks. */
export class ChatWriter implements AnswerWriter {
  readonly heartbeat = CHAT_CONTROL_EVENTS.heartbeat;
  readonly failure = CHAT_CONTROL_EVENTS.failure;
  readonly #head: JsonObject;
  /** The beginning of each chunk, up to the value of `choices`. It is written once, because it is most of a chunk. */
  readonly #chunkHead: string;
  readonly #options: ChatWriterOptions;
  readonly #calls: Call[] = [];
  readonly #inputs = new CallInputs();
  /** Clients match results to calls by their ids, and some upstreams give each call the same one. */
  readonly #callIds = new CallIds();
  readonly #images: JsonObject[] = [];
  readonly #annotations: JsonObject[] = [];
  readonly #logprobs: TokenLogprob[] = [];
  #text = "";
  #refusal: string | null = null;
  #reasoning = "";
  #finish: string | null = null;
  #hasRole = false;
  #isUsageWritten = false;

  constructor({ id, created, model }: AnswerHead, options: ChatWriterOptions) {
    this.#head = { id: `chatcmpl-${id}`, created, model };
    const head = JSON.stringify({ ...this.#head, object: "chat.completion.chunk" });
    this.#chunkHead = `data: ${head.slice(0, -1)},"choices":`;
    this.#options = options;
  }

  begin(): string {
    return "";
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case "text":
        this.#text += event.text;
        return this.#delta({ content: event.text }, event.logprobs);
      case "refusal":
        this.#refusal = (this.#refusal ?? "") + event.text;
        return this.#delta({ refusal: event.text });
      case "reasoning":
        if (this.#options.thoughtMembers.length === 0) return "";
        this.#reasoning += event.text;
        return this.#delta({
          ...this.#thoughts(event.text),
          ...this.#options.thoughtList?.add(event.text),
        });
      case "image": {
        const image = imageOf(event, this.#images.length);
        this.#images.push(image);
        return this.#delta({ images: [image] });
      }
      case "citation": {
        const annotation = annotationOf(event);
        this.#annotations.push(annotation);
        return this.#delta({ annotations: [annotation] });
      }
      // OpenAI's chat completions have no place for the signature of a thought.
      case "reasoning-end": {
        const ended = this.#options.thoughtList?.end(event.signature) ?? null;
        return ended === null ? "" : this.#delta(ended);
      }
      case "call": {
        const { call, name, signature = null } = event;
        const id = this.#callIds.next(event.id);
        const custom = this.#options.customTools.has(name) ? new CustomInput(this.#inputs) : null;
        this.#calls[call] = { id, name, input: "", signature, custom };
        // Google's signature is in the first piece of its call, where the AI SDK looks for it.
        const called = calledOf({ id, name, input: "", signature, custom });
        return this.#callDelta(call, called, this.#signatureOfCall(signature, id));
      }
      case "call-input":
        return this.#callInput(event.call, event.text);
      case "call-end": {
        const call = this.#calls[event.call];
        if (call === undefined) return "";
        if (call.custom !== null) return this.#customInput(event.call, call.custom.end());
        // A tool without parameters may be called without input. Clients parse it.
        return call.input === "" ? this.#callInput(event.call, "{}") : "";
      }
      case "finish":
        return this.#explain(event) + this.#writeFinish(event.reason, event.usage);
    }
  }

  /** Changes nothing, because it is asked for again where the answer is kept for an idempotency key. */
  last(usage: Usage): string {
    return (this.#isUsageWritten ? "" : this.#usageChunk(usage)) + LAST_CHUNK;
  }

  whole(usage: Usage): string {
    const calls = this.#calls.map(calledOf);
    const message: JsonObject = {
      role: "assistant",
      content: this.#text === "" && (calls.length > 0 || this.#refusal !== null) ? null : this.#text,
      refusal: this.#refusal,
      ...(this.#reasoning === "" ? {} : this.#thoughts(this.#reasoning)),
      ...this.#thoughtListMember(),
      ...(this.#images.length === 0 ? {} : { images: this.#images }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(this.#annotations.length === 0 ? {} : { annotations: this.#annotations }),
    };
    return JSON.stringify({
      ...this.#head,
      object: "chat.completion",
      // OpenRouter's libraries refuse a whole answer without it.
      system_fingerprint: null,
      choices: [{ index: 0, message, logprobs: logprobsMember(this.#logprobs), finish_reason: this.#finish }],
      usage: chatUsageOf(usage),
    });
  }

  /** The member in which a client that has a list of thoughts gets what the provider wants back with a call. */
  #signatureOfCall(signature: Signature | null, callId: string): JsonObject | null {
    return signature === null ? null : (this.#options.thoughtList?.addOfCall(signature, callId) ?? null);
  }

  #thoughts(text: string): JsonObject {
    return Object.fromEntries(this.#options.thoughtMembers.map((name) => [name, text]));
  }

  #thoughtListMember(): JsonObject {
    const { thoughtList } = this.#options;
    return thoughtList === null || thoughtList.all.length === 0
      ? {}
      : { [thoughtList.name]: thoughtList.all };
  }

  /** What the provider says about a filtered answer. OpenAI's models say such things as a refusal. */
  #explain({ filtered }: Extract<AnswerEvent, { kind: "finish" }>): string {
    const text = filtered?.explanation ?? null;
    return text === null ? "" : this.write({ kind: "refusal", text });
  }

  #writeFinish(reason: FinishReason, usage: Usage | null): string {
    this.#finish = FINISH[reason];
    const first = this.#hasRole ? "" : this.#delta({ content: "" });
    const last = this.#chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: this.#finish }]);
    this.#isUsageWritten = usage !== null;
    return usage === null ? first + last : first + last + this.#usageChunk(usage);
  }

  /** Nothing for a client that did not ask for it. */
  #usageChunk(usage: Usage): string {
    return this.#options.includeUsage ? this.#chunk([], chatUsageOf(usage)) : "";
  }

  #callInput(index: number, text: string): string {
    const call = this.#calls[index];
    if (call === undefined || text === "") return "";
    if (call.custom !== null) return this.#customInput(index, call.custom.push(text));
    call.input += text;
    return this.#callDelta(index, { function: { arguments: text } });
  }

  #customInput(index: number, input: string): string {
    return input === "" ? "" : this.#callDelta(index, { custom: { input } });
  }

  /** @param beside Members of the delta beside the call. */
  #callDelta(index: number, call: JsonObject, beside: JsonObject | null = null): string {
    return this.#delta({ tool_calls: [{ index, ...call }], ...beside });
  }

  #delta(delta: JsonObject, logprobs: readonly TokenLogprob[] = NO_LOGPROBS): string {
    const written = this.#hasRole ? delta : { role: "assistant", ...delta };
    this.#hasRole = true;
    for (const one of logprobs) this.#logprobs.push(one);
    return this.#chunk([
      { index: 0, delta: written, logprobs: logprobsMember(logprobs), finish_reason: null },
    ]);
  }

  #chunk(choices: readonly Json[], usage: JsonObject | null = null): string {
    const usageMember = usage === null ? "" : `,"usage":${JSON.stringify(usage)}`;
    return `${this.#chunkHead}${JSON.stringify(choices)}${usageMember}}\n\n`;
  }
}

/** The member `logprobs` of a choice. */
function logprobsMember(logprobs: readonly TokenLogprob[]): JsonObject | null {
  return logprobs.length === 0 ? null : { content: logprobs, refusal: null };
}

/** A call as it is so far. */
function calledOf({ id, name, input, signature, custom }: Call): JsonObject {
  const called =
    custom === null
      ? { type: "function", function: { name, arguments: input } }
      : { type: "custom", custom: { name, input: custom.text } };
  return { id, ...called, ...extraOf(signature) };
}

function annotationOf({ url, title, start, end }: Citation): JsonObject {
  return { type: "url_citation", url_citation: { url, title, start_index: start, end_index: end } };
}

/** An image in the form of OpenRouter and LiteLLM: OpenAI has none. `index`: its place among the images of the message. */
function imageOf(
  { mediaType, data, signature }: Extract<AnswerEvent, { kind: "image" }>,
  index: number,
): JsonObject {
  const url = urlOf({ kind: "data", mediaType, data });
  return { type: "image_url", index, image_url: { url }, ...extraOf(signature) };
}

/**
 * What Google wants back with a call or an image, as its own OpenAI-compatible endpoint names it. Chat completions have no place for what other
 * providers want back.
 */
function extraOf(signature: Signature | null): JsonObject {
  const thought = signature?.provider === "google" ? signature.fields.thoughtSignature : undefined;
  return thought === undefined ? {} : { extra_content: { google: { thought_signature: thought } } };
}
