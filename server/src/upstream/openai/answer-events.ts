import type { Signature } from "../../conversation/conversation.ts";
import { dataSourceOf } from "../../conversation/media.ts";
import { CallInputs } from "../../json/call-inputs.ts";
import { parseExact } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf, textMembersOf } from "../../json/members.ts";
import { ObjectEnd } from "../../json/object-end.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { citationsIn } from "../citations.ts";
import { logprobsIn } from "../logprobs.ts";
import { AnswerReader, callIdOf, callInputText, callNameOf, incompleteAnswer } from "../read-answer.ts";
import { jsonText, malformedResponse, refusalOf } from "../refusal.ts";
import { OPENAI_SIGNATURE, type Thinker, type ThoughtMember, thoughtSignature } from "./conversation-body.ts";
import { hasError, hasFailedChoice, refusedCompletion } from "./failed-completion.ts";
import { finishOf, finishReasonOf, isFailure, isFiltered } from "./finish-reason.ts";
import { ReasoningDetails } from "./reasoning-details.ts";
import { SearchedPages } from "./searched-pages.ts";
import { readUsage, readUsageSoFar, usageIn } from "./usage.ts";

const DONE = "[DONE]";
/** The reason of an answer that is complete and does not say why it has ended. */
const UNKNOWN_REASON = "";

/** A tool call while it is received. */
interface Call {
  readonly number: number;
  readonly id: string;
  input: string;
  readonly inputEnd: ObjectEnd;
  extra: Json;
}

/** Reads a chat completion, or the chunks of one. Only the first choice counts. */
export class CompletionReader extends AnswerReader {
  #usage: Usage | null = null;
  #usageSoFar: Usage | null = null;
  /** The calls by the position that the upstream gives them. */
  readonly #calls = new Map<number, Call>();
  readonly #all: Call[] = [];
  /** Whether a stream has had a choice. */
  #hasChoice = false;
  /** Whether a stream has had a piece of the message. */
  #hasPieces = false;
  #reason: string | null = null;
  #stopSequence: string | null = null;
  /** What the upstream calls thoughts; `null`: they are parts of the content, as Mistral's, which it does not need back. */
  #member: ThoughtMember | null = "reasoning_content";
  readonly #details = new ReasoningDetails();
  readonly #pages = new SearchedPages();
  /** Whether the message itself refers to pages, which are those beside it. */
  #hasAnnotations = false;
  readonly #thinker: Thinker;

  /** `thinker`: who alone gets the thoughts back. */
  constructor(thinker: Thinker) {
    super();
    this.#thinker = thinker;
  }

  override get usageSoFar(): Usage | null {
    return this.#usageSoFar;
  }

  readWhole(text: string): void {
    const completion = parseExact(text);
    const [choice] = Array.isArray(completion?.choices) ? completion.choices : [];
    if (completion === null) throw malformedResponse();
    this.#usage = readUsage(completion.usage);
    this.#usageSoFar = readUsageSoFar(completion.usage);
    if (!isJsonObject(choice) || hasFailedChoice(completion)) {
      if (hasError(completion)) throw refusedCompletion(completion, text);
      throw malformedResponse().reporting(this.#usageSoFar);
    }
    const { message } = choice;
    this.#pages.addPages(completion);
    if (isJsonObject(message)) this.#details.addWhole(message.reasoning_details);
    // A provider's filter may have left nothing.
    else if (!isFiltered(finishReasonOf(choice))) throw malformedResponse();
    this.#readChoice(choice, message, true);
    this.#reason ??= UNKNOWN_REASON;
  }

  read(data: string): void {
    if (data === DONE) {
      if (!this.#hasChoice) throw malformedResponse().reporting(this.#usageSoFar);
      this.#reason ??= UNKNOWN_REASON;
      this.end();
      return;
    }
    const chunk = parseExact(data);
    if (chunk === null) throw malformedResponse();
    const usage = usageIn(chunk);
    this.#usage = readUsage(usage) ?? this.#usage;
    this.#usageSoFar = readUsageSoFar(usage) ?? this.#usageSoFar;
    if (hasError(chunk)) throw refusedCompletion(chunk, data);
    this.#pages.addPages(chunk);
    const [choice] = arrayOf(chunk.choices);
    if (!isJsonObject(choice)) return;
    this.#hasChoice = true;
    // Some servers stream the whole message as one piece, and MiniMax's repeats it after its pieces.
    const isWhole = !isJsonObject(choice.delta) && !this.#hasPieces;
    const delta = isWhole ? choice.message : choice.delta;
    if (isJsonObject(delta)) {
      this.#hasPieces = true;
      this.#details.addPiece(delta.reasoning_details);
    }
    this.#readChoice(choice, delta, isWhole);
  }

  /** Without `[DONE]` a stream is complete only if its choice has a finish reason. */
  end(): void {
    if (this.#reason === null) throw incompleteAnswer("a finish");
    if (isFailure(this.#reason)) throw refusalOf(500, "").reporting(this.#usageSoFar);
    const last = this.#all.at(-1);
    const isCut = last !== undefined && !last.inputEnd.isFound && new CallInputs().isCutOff(last.input);
    const reason = finishOf(this.#reason, { areMade: last !== undefined, isCut });
    this.#endThought();
    if (!this.#hasAnnotations) this.foundCitations(this.#pages.citations);
    // The input of the last call of an answer that was cut off may be incomplete.
    const ended = reason === "length" || reason === "filter" ? this.#all.slice(0, -1) : this.#all;
    for (const call of ended) {
      this.found({ kind: "call-end", call: call.number, signature: this.#signatureOf(call) });
    }
    this.finish(reason, reason === "stop" ? this.#stopSequence : null, this.#usage);
  }

  /** `delta`: the message, or a piece of it. `isWhole`: it is the message. */
  #readChoice(choice: JsonObject, delta: Json | undefined, isWhole: boolean): void {
    const { stop_reason: stopSequence } = choice;
    if (isJsonObject(delta)) this.#readDelta(delta, isWhole, choice.logprobs);
    this.#reason = finishReasonOf(choice) ?? this.#reason;
    // vLLM and SGLang tell the stop sequence that they have found.
    if (typeof stopSequence === "string") this.#stopSequence = stopSequence;
  }

  #readDelta(delta: JsonObject, isWhole: boolean, logprobs: Json | undefined): void {
    const thought = delta.reasoning_content ?? delta.reasoning;
    if (typeof thought === "string" && thought !== "") {
      this.#member = delta.reasoning_content === thought ? "reasoning_content" : "reasoning";
      this.foundNeededThought(thought);
    }
    let probabilities = isJsonObject(logprobs) ? logprobsIn(logprobs.content) : undefined;
    for (const { isThought, text } of piecesOf(delta.content)) {
      if (text === "") continue;
      if (isThought) {
        this.#member = null;
        this.foundThought(text);
        continue;
      }
      this.#endThought();
      // They are of all texts together.
      this.foundText(text, probabilities);
      this.#pages.addText(text);
      probabilities = undefined;
    }
    const annotations = citationsIn(delta.annotations);
    this.#hasAnnotations ||= annotations.length > 0;
    this.foundCitations(annotations);
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      this.#endThought();
      this.found({ kind: "refusal", text: delta.refusal });
    }
    this.#readImages(delta.images);
    const calls = arrayOf(delta.tool_calls);
    for (const [position, call] of calls.entries()) {
      if (!isJsonObject(call)) continue;
      const { index } = call;
      this.#readCall(call, isWhole || typeof index !== "number" ? position : index);
    }
  }

  /** Images beside the text, as OpenRouter and LiteLLM have them. */
  #readImages(images: Json | undefined): void {
    if (!Array.isArray(images)) return;
    for (const image of images) {
      const { url } = objectOf(objectOf(image).image_url);
      const source = typeof url === "string" ? dataSourceOf(url) : null;
      if (source?.kind !== "data") continue;
      this.#endThought();
      this.found({ kind: "image", mediaType: source.mediaType, data: source.data, signature: null });
    }
  }

  #endThought(): void {
    if (this.#member === null) this.endThought();
    else this.endNeededThought(thoughtSignature(this.#thinker, this.#member));
  }

  /** The data that the provider wants back with a call. With the first call these contain the details that OpenRouter sends of thoughts. */
  #signatureOf({ number, extra }: Call): Signature | null {
    const own = signatureOf(extra);
    if (number > 0 || this.#details.isEmpty) return own;
    const fields = { ...this.#thinker, reasoning_details: this.#details.toText() };
    return { provider: OPENAI_SIGNATURE, fields: { ...own?.fields, ...fields } };
  }

  /** `position`: that of the call among those of the message. */
  #readCall(piece: JsonObject, position: number): void {
    this.#endThought();
    const { id, function: called, extra_content: extra = null } = piece;
    const { name, arguments: input } = objectOf(called);
    const text = callInputText(input);
    let call = this.#calls.get(position);
    const isNamed = typeof name === "string" && name !== "";
    // Some servers give all calls the same position, and each an id of its own or none. After a whole input another one is that of another call.
    const hasOtherId = typeof id === "string" && id !== "" && id !== call?.id;
    const isAnother = hasOtherId || (call?.inputEnd.isFound === true && text.trimStart().startsWith("{"));
    // A piece that says nothing begins no call.
    if (call === undefined && !isNamed && !isAnother && text === "") return;
    if (call === undefined || (isAnother && isNamed)) {
      const number = this.#all.length;
      call = { number, id: callIdOf(id), input: "", inputEnd: new ObjectEnd(), extra: null };
      this.#calls.set(position, call);
      this.#all.push(call);
      this.found({
        kind: "call",
        call: call.number,
        id: call.id,
        name: callNameOf(name),
        signature: signatureOf(extra),
      });
    }
    if (extra !== null) call.extra = extra;
    if (text !== "") {
      call.input += text;
      call.inputEnd.add(text);
      this.found({ kind: "call-input", call: call.number, text });
    }
  }
}

interface ContentPiece {
  readonly isThought: boolean;
  readonly text: string;
}

/** The texts of a content, which some servers write as parts. Mistral's has thoughts among them. */
function piecesOf(content: Json | undefined): readonly ContentPiece[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ isThought: false, text: content }];
  if (!Array.isArray(content)) throw malformedResponse();
  return content.flatMap((part: Json): ContentPiece[] => {
    if (!isJsonObject(part)) return [];
    const { type, text, thinking } = part;
    if (type === "thinking") return [{ isThought: true, text: thoughtIn(thinking) }];
    return typeof text === "string" ? [{ isThought: false, text }] : [];
  });
}

function thoughtIn(thinking: Json | undefined): string {
  if (typeof thinking === "string") return thinking;
  return textMembersOf(thinking).join("");
}

function signatureOf(extra: Json): Signature | null {
  return isJsonObject(extra)
    ? { provider: OPENAI_SIGNATURE, fields: { extra_content: jsonText(extra) } }
    : null;
}
