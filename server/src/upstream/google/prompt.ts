import type {
  AssistantPart,
  FilePart,
  ImagePart,
  ProducedImagePart,
  Signature,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UserPart,
} from "../../conversation/conversation.ts";
import type { JsonObject } from "../../json/json.ts";
import { EarlierCallInputs, resultWithoutCall } from "../earlier-calls.ts";
import { PairedCalls } from "../paired-calls.ts";
import { markedInstructions } from "../write-conversation.ts";
import type { ModelTraits } from "./models.ts";

/** The provider of the signatures of thoughts and calls. */
export const GOOGLE_SIGNATURE = "google";
/** What Google accepts in the place of a signature, for what another provider's model has produced, or a client has not sent back whole. */
const WITHOUT_SIGNATURE = "skip_thought_signature_validator";
/** The types of images that Google takes, by the ends of their names. */
const IMAGE_TYPES: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["webp", "image/webp"],
  ["heic", "image/heic"],
  ["heif", "image/heif"],
]);

interface Prompt {
  /** Empty if there are none, or the model has no field for them. */
  readonly instructions: readonly JsonObject[];
  readonly contents: readonly JsonObject[];
}

/**
 * The turns of a conversation as contents. Google gets its own signatures back, and no others.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed.
 */
export function promptOf(turns: readonly Turn[], traits: ModelTraits): Prompt {
  const writer = new PromptWriter(traits);
  for (const turn of turns) writer.write(turn);
  return writer.finish();
}

type Content = { readonly role: "user" | "model"; readonly parts: JsonObject[] };

class PromptWriter {
  readonly #traits: ModelTraits;
  readonly #instructions: JsonObject[] = [];
  readonly #contents: Content[] = [];
  /** The calls so far: a result tells their names, too. */
  readonly #calls = new PairedCalls((id) => id);
  readonly #inputs = new EarlierCallInputs();
  /** The results of the tools so far, while nothing else is said: those of calls that were made together belong together. */
  #results: JsonObject[] | null = null;

  constructor(traits: ModelTraits) {
    this.#traits = traits;
  }

  write(turn: Turn): void {
    switch (turn.role) {
      case "system":
        this.#writeInstructions(turn.parts);
        break;
      case "user":
        this.#add("user", turn.parts.flatMap(userParts));
        break;
      case "assistant":
        this.#add("model", this.#assistantParts(turn.parts));
        break;
      case "tool":
        this.#writeResults(turn.parts.flatMap((part) => this.#result(part)));
        break;
    }
  }

  finish(): Prompt {
    if (this.#traits.hasInstructions || this.#instructions.length === 0) {
      return { instructions: this.#instructions, contents: this.#contents };
    }
    const text = `${this.#instructions.map((part) => part.text).join("\n\n")}\n\n`;
    const [first, ...others] = this.#contents;
    const beginning: Content[] =
      first?.role === "user"
        ? [{ role: "user", parts: [{ text }, ...first.parts] }, ...others]
        : [{ role: "user", parts: [{ text }] }, ...this.#contents];
    return { instructions: [], contents: beginning };
  }

  /** Google refuses a content without parts. */
  #add(role: Content["role"], parts: JsonObject[]): void {
    if (parts.length === 0) return;
    this.#results = null;
    this.#contents.push({ role, parts });
  }

  /** Google takes instructions only at the beginning. Later ones stay in their place, as the user's. */
  #writeInstructions(parts: readonly TextPart[]): void {
    const text = parts.map((part) => part.text).join("\n");
    if (text === "") return;
    if (this.#contents.length === 0) this.#instructions.push({ text });
    else this.#add("user", [{ text: markedInstructions(parts) }]);
  }

  #writeResults(parts: readonly JsonObject[]): void {
    if (this.#results !== null) {
      this.#results.push(...parts);
      return;
    }
    const results = [...parts];
    this.#add("user", results);
    this.#results = results;
  }

  #assistantParts(parts: readonly AssistantPart[]): JsonObject[] {
    let hasSignedCall = false;
    this.#calls.beginTurn();
    return parts.flatMap((part) => {
      if (part.kind === "call") {
        const written = this.#call(part, hasSignedCall);
        hasSignedCall ||= signatureIn(part.signature) !== undefined;
        return [written];
      }
      if (part.kind === "image") return [this.#producedImage(part)];
      if (part.kind !== "reasoning") return textParts(part.text);
      const thoughtSignature = signatureIn(part.signature);
      return thoughtSignature === undefined ? [] : [{ text: part.text, thought: true, thoughtSignature }];
    });
  }

  /** @param hasSignedCall Whether a call before it is signed: of calls that are made together, only the first one is. */
  #call(part: ToolCallPart, hasSignedCall: boolean): JsonObject {
    const { name, signature } = part;
    const args = this.#inputs.objectOf(part);
    const needsSignature = this.#traits.hasSignedCalls && !hasSignedCall;
    const thoughtSignature = signatureIn(signature) ?? (needsSignature ? WITHOUT_SIGNATURE : undefined);
    return { functionCall: { id: this.#calls.add(part), name, args }, thoughtSignature };
  }

  /** Newer models refuse their own images without a signature, as they do calls. */
  #producedImage(part: ProducedImagePart): JsonObject {
    const thoughtSignature =
      signatureIn(part.signature) ?? (this.#traits.hasSignedCalls ? WITHOUT_SIGNATURE : undefined);
    return { ...mediaPart(part), thoughtSignature };
  }

  /** A result; for models that take only texts in it, its images and documents come after it. */
  #result({ callId, parts, isError, at }: ToolResultPart): JsonObject[] {
    const call = this.#calls.takeCall(callId);
    if (call === undefined) throw resultWithoutCall(at);
    const { id, name } = call;
    const texts = parts.flatMap(resultText);
    const media = parts.flatMap(inlineMedia);
    const outcome = isError ? "Tool failed" : "Tool executed successfully";
    const said = texts.length === 0 && parts.length > 0 ? `${outcome}.` : texts.join("\n");
    const hasParts = media.length > 0 && this.#traits.hasMediaInResults;
    const result = {
      id,
      name,
      response: { name, [isError ? "error" : "content"]: said },
      parts: hasParts ? media.map(mediaPart) : undefined,
    };
    return [
      { functionResponse: result },
      ...(hasParts ? [] : media.flatMap((part) => shownAfter(part, outcome))),
    ];
  }
}

/** Google refuses an empty text. */
function textParts(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ text }];
}

function userParts(part: UserPart): readonly JsonObject[] {
  switch (part.kind) {
    case "text":
      return textParts(part.text);
    case "audio":
      return [
        { inlineData: { mimeType: part.format === "wav" ? "audio/wav" : "audio/mpeg", data: part.data } },
      ];
    case "image":
    case "file":
      return [mediaPart(part)];
  }
}

/** An image or a document. Google fetches those that are named by a URL. */
function mediaPart({
  kind,
  source,
}: Pick<ImagePart | FilePart | ProducedImagePart, "kind" | "source">): JsonObject {
  if (source.kind === "data") return { inlineData: { mimeType: source.mediaType, data: source.data } };
  const mimeType = kind === "file" ? "application/pdf" : imageType(source.url);
  return { fileData: { mimeType, fileUri: source.url } };
}

/** `undefined`: the URL does not tell. */
function imageType(url: string): string | undefined {
  const [, ending = ""] = /\.([a-z]+)$/i.exec(new URL(url).pathname) ?? [];
  return IMAGE_TYPES.get(ending.toLowerCase());
}

type ResultPart = ToolResultPart["parts"][number];

/** The texts of a result, with the URLs of images and files that the client has named by URL: a result can't contain these. */
function resultText(part: ResultPart): readonly string[] {
  if (part.kind === "text") return [part.text];
  return part.source.kind === "url" ? [part.source.url] : [];
}

function inlineMedia(part: ResultPart): readonly (ImagePart | FilePart)[] {
  return part.kind === "text" || part.source.kind === "url" ? [] : [part];
}

function shownAfter(part: ImagePart | FilePart, outcome: string): readonly JsonObject[] {
  const isImage = part.source.kind === "data" && part.source.mediaType.startsWith("image/");
  const kind = isImage ? "image" : "file";
  return [mediaPart(part), { text: `${outcome} and returned this ${kind} as a response` }];
}

function signatureIn(signature: Signature | null): string | undefined {
  return signature?.provider === GOOGLE_SIGNATURE ? signature.fields.thoughtSignature : undefined;
}
