import type { AnswerEvent, FinishReason } from "../../conversation/answer.ts";
import type { Signature } from "../../conversation/conversation.ts";
import { Failure } from "../../errors/failure.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { AnswerReader, eventsRead } from "../answer-reader.ts";
import { UpstreamRefused } from "../dialect.ts";
import { jsonText } from "../json-text.ts";
import { malformedResponse, PROVIDER_FAILED } from "../refusal.ts";
import { TransportError } from "../transport.ts";
import { refusedIn } from "./error-event.ts";
import { GOOGLE_SIGNATURE } from "./prompt.ts";
import { readContentUsage, totalUsage } from "./usage.ts";

/** Sends the request again, for the rest of an answer that is longer than one request gives. `token`: from the end of what came. */
export type Continue<Answer> = (token: string) => Promise<Answer>;

/** A longer answer is more than any model's context, in pieces of the size that one request gives. */
const MAX_REQUESTS = 64;

/**
 * The events of a whole answer.
 *
 * @param answerTool The tool whose input is the answer, for models that do not take a schema together with tools; `null`: none.
 * @throws {UpstreamRefused} for a malformed answer.
 */
export async function eventsOfContent(
  text: string,
  answerTool: string | null,
  more: Continue<string>,
): Promise<readonly AnswerEvent[]> {
  const reader = new ContentReader(answerTool, true);
  reader.read(text);
  for (let token = reader.takeToken(); token !== null; token = reader.takeToken()) {
    reader.read(await more(token));
  }
  reader.finish();
  return reader.takeEvents();
}

/** The events of a streamed answer, those of a piece together. @param answerTool As of {@link eventsOfContent}. */
export async function* eventsOfStream(
  data: AsyncIterable<readonly string[]>,
  answerTool: string | null,
  more: Continue<AsyncIterable<readonly string[]>>,
): AsyncGenerator<readonly AnswerEvent[]> {
  const reader = new ContentReader(answerTool, false);
  let stream: AsyncIterable<readonly string[]> | null = data;
  while (stream !== null) {
    yield* eventsRead(stream, reader);
    const token = reader.takeToken();
    stream = token === null ? null : await more(token);
  }
  // Usage may come after the reason for the end.
  reader.finish();
  yield reader.takeEvents();
}

/** Reads an answer piece by piece. Parts that no format of clients has, such as code that the provider runs, are left out. */
class ContentReader extends AnswerReader {
  readonly #answerTool: string | null;
  /** Whether each thought is a part of its own; a stream has pieces of thoughts. */
  readonly #hasWholeParts: boolean;
  /** The text beside the tool for JSON, which counts only if the tool is not called. */
  #heldBack = "";
  #isAnswered = false;
  #isThinking = false;
  #calls = 0;
  #requests = 1;
  #reason: string | null = null;
  #token: string | null = null;
  #isBlocked = false;
  #metadata: Json | undefined;
  /** The usage of the requests before this one. */
  readonly #usages: (Usage | null)[] = [];

  constructor(answerTool: string | null, hasWholeParts: boolean) {
    super();
    this.#answerTool = answerTool;
    this.#hasWholeParts = hasWholeParts;
  }

  /** Reads an answer, or a piece of a stream. */
  read(text: string): void {
    // Some servers that speak this API end streams as OpenAI's do.
    if (text === "[DONE]") return;
    const response = parseJsonObject(text);
    if (response === null) throw malformedResponse();
    const { error, usageMetadata, promptFeedback, candidates } = response;
    if (isJsonObject(error)) throw refusedIn(error);
    // Each tells the tokens of all pieces so far.
    if (isJsonObject(usageMetadata)) this.#metadata = usageMetadata;
    this.#isBlocked ||= isJsonObject(promptFeedback) && isBlocking(promptFeedback.blockReason);
    const candidate = candidateIn(candidates);
    if (candidate === null || this.#isBlocked) return;
    for (const part of partsOf(candidate.content)) {
      this.#part(part);
      if (this.#hasWholeParts) this.#endThought(null);
    }
    const { finishReason, continuationToken } = candidate;
    if (typeof finishReason === "string") this.#reason = finishReason;
    const isContinued = finishReason === "CONTINUATION" && typeof continuationToken === "string";
    if (isContinued && this.#requests < MAX_REQUESTS) this.#token = continuationToken;
  }

  /** What the rest of the answer is to be asked for with; `null`: there is no more. */
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

  finish(): void {
    if (!this.#isBlocked && this.#reason === null) {
      throw new TransportError("cut", "the upstream's answer ended without a reason");
    }
    const reason = this.#isBlocked ? "filter" : finishOf(this.#reason, this.#calls > 0);
    this.#endThought(null);
    if (this.#heldBack !== "" && !this.#isAnswered) this.found({ kind: "text", text: this.#heldBack });
    const usage = totalUsage([...this.#usages, readContentUsage(this.#metadata)]);
    this.found({ kind: "finish", reason, stopSequence: null, usage });
  }

  #part(part: Json): void {
    if (!isJsonObject(part)) throw malformedResponse();
    const { text, thought, functionCall } = part;
    const signature = signatureOf(part.thoughtSignature);
    if (isJsonObject(functionCall)) {
      this.#endThought(null);
      this.#call(functionCall, signature);
    } else if (typeof text !== "string") {
      this.#endThought(null);
    } else if (thought === true) {
      this.#thought(text, signature);
    } else if (text !== "") {
      this.#endThought(null);
      if (this.#answerTool === null) this.found({ kind: "text", text });
      else this.#heldBack += text;
    }
  }

  /** The last piece of a thought may have its signature, which belongs to nothing that comes after it. */
  #thought(text: string, signature: Signature | null): void {
    if (text !== "") {
      this.#isThinking = true;
      this.found({ kind: "reasoning", text });
    }
    if (signature === null) return;
    this.#isThinking = true;
    this.#endThought(signature);
  }

  #endThought(signature: Signature | null): void {
    if (!this.#isThinking) return;
    this.#isThinking = false;
    this.found({ kind: "reasoning-end", signature });
  }

  /** A call, which comes as a whole: in pieces only to those who ask for them. */
  #call(called: JsonObject, signature: Signature | null): void {
    const { name, args, partialArgs, willContinue } = called;
    const isPiece = isPresent(partialArgs) || willContinue === true;
    if (typeof name !== "string" || name === "" || isPiece) throw malformedResponse();
    const text = typeof args === "string" ? args : jsonText(args ?? {});
    if (name === this.#answerTool) {
      this.#isAnswered = true;
      this.found({ kind: "text", text });
      return;
    }
    const call = this.#calls++;
    this.found({ kind: "call", call, id: idOf(called), name, signature });
    this.found({ kind: "call-input", call, text });
    this.found({ kind: "call-end", call, signature });
  }
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

function idOf({ id }: JsonObject): string {
  return typeof id === "string" && id !== "" ? id : `call_${crypto.randomUUID().replaceAll("-", "")}`;
}

function signatureOf(value: Json | undefined): Signature | null {
  return typeof value === "string" && value !== ""
    ? { provider: GOOGLE_SIGNATURE, fields: { thoughtSignature: value } }
    : null;
}

function isBlocking(reason: Json | undefined): boolean {
  return typeof reason === "string" && reason !== "" && !/^BLOCK(?:ED)?_REASON_UNSPECIFIED$/.test(reason);
}

/** @throws {UpstreamRefused} when the model has produced what is no answer. */
function finishOf(reason: string | null, hasCalls: boolean): FinishReason {
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
      return "filter";
    case "MALFORMED_FUNCTION_CALL":
    case "UNEXPECTED_TOOL_CALL":
    case "TOO_MANY_TOOL_CALLS":
    case "MISSING_THOUGHT_SIGNATURE":
    case "MALFORMED_RESPONSE":
      throw new UpstreamRefused(500, new Failure("upstream_error", PROVIDER_FAILED));
    default:
      return hasCalls ? "calls" : "stop";
  }
}
