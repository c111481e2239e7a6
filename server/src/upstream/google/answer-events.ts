import type { Filtered, FinishReason, TokenLogprob } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { parseExact } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import type { UpstreamRefused } from "../dialect.ts";
import { AnswerReader, callIdOf, callInputText, callNameOf, incompleteAnswer } from "../read-answer.ts";
import { jsonText, malformedResponse, refusalOf, refusedStatus } from "../refusal.ts";
import { totalUsage } from "../usage-counts.ts";
import { logprobsOf } from "./logprobs.ts";
import { GOOGLE_SIGNATURE } from "./prompt.ts";
import { readContentUsage } from "./usage.ts";

/** A longer answer is more than any model's context, in pieces of the size that one request gives. */
const MAX_REQUESTS = 64;
const IMAGE_TYPE = /^image\/[\w.+-]{1,64}$/;

/** The HTTP statuses of Google's names of errors. */
const STATUSES: ReadonlyMap<Json | undefined, number> = new Map([
  ["INVALID_ARGUMENT", 400],
  ["FAILED_PRECONDITION", 400],
  ["OUT_OF_RANGE", 400],
  ["UNAUTHENTICATED", 401],
  ["PERMISSION_DENIED", 403],
  ["NOT_FOUND", 404],
  ["RESOURCE_EXHAUSTED", 429],
  ["UNAVAILABLE", 503],
  ["DEADLINE_EXCEEDED", 504],
]);

/** Reads an answer piece by piece. Parts that no format of clients has, such as code that the provider runs or a drawn thought, are left out. */
export class ContentReader extends AnswerReader {
  /** Whether each thought is a part of its own; a stream has pieces of thoughts. */
  #hasWholeParts = false;
  #calls = 0;
  /** Whether the answer has a text or an image. */
  #hasContent = false;
  #requests = 1;
  #reason: string | null = null;
  #token: string | null = null;
  #isBlocked = false;
  /** Why the answer has ended, in words. */
  #explanation: string | null = null;
  #metadata: Json | undefined;
  /** The probabilities of the tokens of a piece, until its first text was found. */
  #logprobs: readonly TokenLogprob[] | undefined;
  /** The usage of the requests before this one. */
  readonly #usages: (Usage | null)[] = [];

  /** The total of the requests that have reported theirs. */
  override get usageSoFar(): Usage | null {
    const all = [...this.#usages, readContentUsage(this.#metadata)];
    return totalUsage(all.filter((usage) => usage !== null));
  }

  readWhole(text: string): void {
    this.#hasWholeParts = true;
    this.read(text);
  }

  read(data: string): void {
    // Some servers that speak this API end streams as OpenAI's do.
    if (data === "[DONE]") return;
    const response = parseExact(data);
    if (response === null) throw malformedResponse();
    const { error, usageMetadata, promptFeedback, candidates } = response;
    // Each tells the tokens of all pieces so far.
    if (isJsonObject(usageMetadata)) this.#metadata = usageMetadata;
    if (isJsonObject(error)) throw refusedIn(error).reporting(this.usageSoFar);
    if (isJsonObject(promptFeedback) && isBlocking(promptFeedback.blockReason)) {
      this.#isBlocked = true;
      this.#explain(promptFeedback.blockReasonMessage);
    }
    const candidate = candidateIn(candidates);
    if (candidate === null || this.#isBlocked) return;
    this.#logprobs = logprobsOf(candidate.logprobsResult);
    for (const part of partsOf(candidate.content)) {
      this.#part(part);
      if (this.#hasWholeParts) this.endThought();
    }
    const { finishReason, finishMessage, continuationToken } = candidate;
    this.#explain(finishMessage);
    if (typeof finishReason === "string") this.#reason = finishReason;
    const isContinued = finishReason === "CONTINUATION" && typeof continuationToken === "string";
    if (isContinued && this.#requests < MAX_REQUESTS) this.#token = continuationToken;
  }

  /** What the rest of the answer, which is longer than one request gives, is to be asked for with; `null`: there is no more. */
  takeToken(): string | null {
    const token = this.#token;
    this.#token = null;
    if (token !== null) {
      this.#requests++;
      this.#reason = null;
      this.#usages.push(readContentUsage(this.#metadata));
      this.#metadata = undefined;
    }
    return token;
  }

  /** Usage may come after the reason for the end. */
  end(): void {
    if (!this.#isBlocked && this.#reason === null) throw incompleteAnswer("a reason");
    const reason = this.#isBlocked ? "filter" : this.#finishReason();
    if (reason === null) throw refusalOf(500, "").reporting(this.usageSoFar);
    this.endThought();
    const usage = totalUsage([...this.#usages, readContentUsage(this.#metadata)]);
    const explanation = this.#explanation;
    const filtered: Filtered | null = explanation === null ? null : { category: null, explanation };
    this.finish(reason, null, usage, filtered);
  }

  /** `null`: the model has produced what is no answer. */
  #finishReason(): FinishReason | null {
    const isUsable = this.#hasContent && this.#explanation === null;
    return finishOf(this.#reason, { hasCalls: this.#calls > 0, isUsable });
  }

  #explain(message: Json | undefined): void {
    if (typeof message === "string" && message !== "") this.#explanation = message;
  }

  #part(part: Json): void {
    if (!isJsonObject(part)) throw malformedResponse();
    const { text, thought, functionCall, inlineData } = part;
    const signature = signatureOf(part.thoughtSignature);
    if (isJsonObject(functionCall)) {
      this.endThought();
      this.#call(functionCall, signature);
    } else if (isJsonObject(inlineData)) {
      this.endThought();
      if (thought !== true) this.#image(inlineData, signature);
    } else if (typeof text !== "string") {
      this.endThought();
    } else if (thought === true) {
      if (text !== "") this.foundThought(text);
      // The last piece of a thought may have its signature, which belongs to nothing that comes after it.
      if (signature !== null) this.endThought(signature);
    } else if (text !== "") {
      this.endThought();
      this.#hasContent = true;
      // They are of all parts of the piece together.
      this.foundText(text, this.#logprobs);
      this.#logprobs = undefined;
    }
  }

  #image({ mimeType, data }: JsonObject, signature: Signature | null): void {
    const isImage = typeof mimeType === "string" && IMAGE_TYPE.test(mimeType);
    if (!isImage || typeof data !== "string" || data === "") return;
    this.#hasContent = true;
    this.found({ kind: "image", mediaType: mimeType, data, signature });
  }

  /** A call, which comes as a whole: in pieces only to those who ask for them. */
  #call(
    { id, name: called, args, partialArgs, willContinue }: JsonObject,
    signature: Signature | null,
  ): void {
    const isPiece = isPresent(partialArgs) || willContinue === true;
    if (isPiece) throw malformedResponse();
    const name = callNameOf(called);
    const text = callInputText(args) || "{}";
    if (name === this.answerTool) {
      this.isAnswered = true;
      this.#hasContent = true;
      this.found({ kind: "text", text });
      return;
    }
    const call = this.#calls++;
    this.found({ kind: "call", call, id: callIdOf(id), name, signature });
    this.found({ kind: "call-input", call, text });
    this.found({ kind: "call-end", call, signature });
  }
}

/** An error that the upstream reports in its stream. @param error Its member `error`. */
function refusedIn(error: JsonObject): UpstreamRefused {
  const body = jsonText({ error });
  const { code } = error;
  const isStatus = typeof code === "number" && code >= 400 && code < 600;
  const status = isStatus ? code : (STATUSES.get(error.status) ?? 500);
  return refusalOf(refusedStatus(status, body), body);
}

function candidateIn(candidates: Json | undefined): JsonObject | null {
  if (!isPresent(candidates)) return null;
  const candidate: Json | undefined = Array.isArray(candidates) ? candidates[0] : null;
  if (candidate === undefined) return null;
  if (!isJsonObject(candidate)) throw malformedResponse();
  return candidate;
}

function partsOf(content: Json | undefined): readonly Json[] {
  if (!isPresent(content)) return [];
  if (!isJsonObject(content)) throw malformedResponse();
  const { parts } = content;
  if (!isPresent(parts)) return [];
  if (!Array.isArray(parts)) throw malformedResponse();
  return parts;
}

/** Members that have no value are left out. */
function isPresent<Value extends Json>(value: Value | undefined): value is Exclude<Value, null> {
  return value !== undefined && value !== null;
}

function signatureOf(value: Json | undefined): Signature | null {
  return typeof value === "string" && value !== ""
    ? { provider: GOOGLE_SIGNATURE, fields: { thoughtSignature: value } }
    : null;
}

function isBlocking(reason: Json | undefined): boolean {
  return typeof reason === "string" && reason !== "" && !/^BLOCK(?:ED)?_REASON_UNSPECIFIED$/.test(reason);
}

/**
 * `null`: the model has produced what is no answer.
 *
 * @param isUsable Whether it has a text or an image, about which Google says nothing. Without that, an answer that ends for a reason such as `NO_IMAGE` is
 *   none: it ends as a filtered one, which can have Google's words.
 */
function finishOf(
  reason: string | null,
  { hasCalls, isUsable }: { readonly hasCalls: boolean; readonly isUsable: boolean },
): FinishReason | null {
  switch (reason) {
    case "MAX_TOKENS":
    case "CONTINUATION":
      return "length";
    case "SAFETY":
    case "RECITATION":
    case "LANGUAGE":
    case "BLOCKLIST":
    case "PROHIBITED_CONTENT":
    case "SPII":
    case "IMAGE_SAFETY":
    case "IMAGE_PROHIBITED_CONTENT":
    case "IMAGE_RECITATION":
    case "MODEL_ARMOR":
    case "ESCALATION":
    case "PUP_LIMITED_DISABLED":
      return "filter";
    case "MALFORMED_FUNCTION_CALL":
    case "UNEXPECTED_TOOL_CALL":
    case "TOO_MANY_TOOL_CALLS":
    case "MISSING_THOUGHT_SIGNATURE":
    case "MALFORMED_RESPONSE":
      return null;
    case "STOP":
      return hasCalls ? "calls" : "stop";
    default:
      if (hasCalls) return "calls";
      return isUsable ? "stop" : "filter";
  }
}
