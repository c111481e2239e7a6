import type { ReasoningPart, Signature } from "../../conversation/conversation.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf, textOf } from "../../json/members.ts";
import { SEALED_TEXT_PREFIX } from "../../secrets/sealer.ts";

/**
 * The lists of thoughts that a message can have beside their text: OpenRouter's and LiteLLM's. Their clients send them back unchanged, so that a model gets
 * the thoughts back that it has had before a call.
 */
type ThoughtListName = "reasoning_details" | "thinking_blocks";

/** What OpenRouter calls the formats of providers. Its clients leave out other names, and take a thought without a format for Anthropic's. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ["anthropic", "anthropic-claude-v1"],
  ["google", "google-gemini-v1"],
  ["openai-responses", "openai-responses-v1"],
]);

/** The format of a thought that is not signed. */
const UNKNOWN = "unknown";

/** Writes the thoughts of an answer as a list. What their provider wants back is sealed in the signature of a thought, or stands alone. */
export class ThoughtList {
  /** The thoughts so far. */
  readonly all: JsonObject[] = [];
  readonly name: ThoughtListName;
  readonly #signatures: SignatureSealer;
  /** The text of the thought that is being received; `null`: there is none. */
  #text: string | null = null;

  constructor(name: ThoughtListName, signatures: SignatureSealer) {
    this.name = name;
    this.#signatures = signatures;
  }

  /** Adds a piece of a thought. @returns the piece for a stream. */
  add(text: string): JsonObject {
    this.#text = (this.#text ?? "") + text;
    return this.#piece(this.#thought(text));
  }

  /** Ends a thought. One that its provider does not show has a signature only. @returns the last piece for a stream; `null`: there is none. */
  end(signature: Signature | null): JsonObject | null {
    const text = this.#text;
    this.#text = null;
    if (text === null) return signature === null ? null : this.#carry(signature, null);
    const signed = signature === null ? {} : this.#signed(signature);
    const index = this.all.length;
    this.all.push({ ...this.#thought(text), ...signed });
    return signature === null ? null : this.#piece({ ...this.#thought("", index), ...signed });
  }

  /** Adds what a provider wants back with a call. @returns it for a stream; `null`: LiteLLM's clients have no place for it. */
  addOfCall(signature: Signature, callId: string): JsonObject | null {
    return this.name === "thinking_blocks" ? null : this.#carry(signature, callId);
  }

  #carry(signature: Signature, callId: string | null): JsonObject {
    const data = this.#signatures.seal({ signature, callId });
    const carried: JsonObject =
      this.name === "thinking_blocks"
        ? { type: "redacted_thinking", data }
        : {
            type: "reasoning.encrypted",
            data,
            ...(callId === null ? {} : { id: callId }),
            ...formatOf(signature),
            index: this.all.length,
          };
    this.all.push(carried);
    return this.#piece(carried);
  }

  #thought(text: string, index = this.all.length): JsonObject {
    return this.name === "thinking_blocks"
      ? { type: "thinking", thinking: text }
      : { type: "reasoning.text", text, format: UNKNOWN, index };
  }

  #signed(signature: Signature): JsonObject {
    const sealed = this.#signatures.seal({ signature, callId: null });
    return { signature: sealed, ...(this.name === "thinking_blocks" ? {} : formatOf(signature)) };
  }

  #piece(element: JsonObject): JsonObject {
    return { [this.name]: [element] };
  }
}

function formatOf({ provider }: Signature): JsonObject {
  return { format: FORMATS.get(provider) ?? UNKNOWN };
}

/** The thoughts that a client has sent back with a message, and the signatures of its calls, by the ids of the calls. */
interface ReturnedThoughts {
  readonly thoughts: readonly ReasoningPart[];
  readonly ofCalls: ReadonlyMap<string, Signature>;
}

/** Reads the lists of {@link ThoughtList}. Thoughts that this service has not signed for the account are left out, as no provider reads them. */
export function returnedThoughts(
  { reasoning_details: details, thinking_blocks: blocks }: JsonObject,
  at: string,
  signatures: SignatureSealer,
): ReturnedThoughts {
  const [list, name] = Array.isArray(details)
    ? [details, "reasoning_details"]
    : [arrayOf(blocks), "thinking_blocks"];
  const thoughts: ReasoningPart[] = [];
  const ofCalls = new Map<string, Signature>();
  // Some clients send the pieces of a stream as they have come. The last piece of a thought is signed.
  let begun = "";
  for (const [index, element] of list.entries()) {
    const { text, thinking, signature: own, data } = objectOf(element);
    const said = begun + (textOf(text) ?? textOf(thinking) ?? "");
    const sealed = sealedIn(element);
    const carried = sealed === null ? null : signatures.open(sealed);
    begun = textOf(own) === null && textOf(data) === null ? said : "";
    if (carried === null) continue;
    const { signature, callId } = carried;
    if (callId !== null) ofCalls.set(callId, signature);
    else
      thoughts.push({ kind: "reasoning", text: said, signature, cache: null, at: `${at}.${name}.${index}` });
  }
  return { thoughts, ofCalls };
}

/** What this service has sealed in a thought; `null`: nothing. */
function sealedIn(element: Json | undefined): string | null {
  const { signature, data } = objectOf(element);
  const found = textOf(signature) ?? textOf(data);
  return found?.startsWith(SEALED_TEXT_PREFIX) === true ? found : null;
}

const LISTS: readonly ThoughtListName[] = ["reasoning_details", "thinking_blocks"];

/**
 * The messages of a request without the thoughts that this service has sealed, which an upstream that gets a request as it is can't read. The same
 * messages if they have none.
 */
export function withoutSealedThoughts(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages;
  const kept = messages.map(withoutSealed);
  return kept.every((message, index) => message === messages[index]) ? messages : kept;
}

function withoutSealed(message: Json): Json {
  if (!isJsonObject(message)) return message;
  let kept = message;
  for (const name of LISTS) {
    const list = message[name];
    if (!Array.isArray(list)) continue;
    const others = list.filter((element: Json) => sealedIn(element) === null);
    if (others.length < list.length) kept = { ...kept, [name]: others.length === 0 ? undefined : others };
  }
  return kept;
}
