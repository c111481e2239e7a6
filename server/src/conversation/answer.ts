import type { Usage } from "../tokens/token-estimate.ts";
import type { Signature } from "./conversation.ts";

/**
 * A piece of an answer in no client's and no provider's format. A dialect yields them in the order in which the model produces
 * them; a wire writes each for its client at once. The last one of every complete answer is `finish`.
 */
export type AnswerEvent =
  | { readonly kind: "text"; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly kind: "refusal"; readonly text: string }
  /**
   * A piece of a thought. `isNeededByCalls`: the provider may refuse the calls that follow unless the thought comes back with them. It
   * stands with every piece and with the end, so that the text of no other thought is kept.
   */
  | { readonly kind: "reasoning"; readonly text: string; readonly isNeededByCalls?: true }
  /** Ends a thought. A thought that the provider does not show has a signature and no text. */
  | {
      readonly kind: "reasoning-end";
      readonly signature: Signature | null;
      readonly isNeededByCalls?: true;
    }
  /** An image, which comes as a whole. */
  | {
      readonly kind: "image";
      /** As `image/png`. */
      readonly mediaType: string;
      /** Base64. */
      readonly data: string;
      readonly signature: Signature | null;
    }
  /** A page on the web that the text before it refers to. */
  | ({ readonly kind: "citation" } & Citation)
  /** Begins a tool call. Calls are numbered from 0. The pieces of several calls may come by turns. */
  | {
      readonly kind: "call";
      readonly call: number;
      readonly id: string;
      readonly name: string;
      /** The signature that `call-end` repeats, where it is known so early. */
      readonly signature?: Signature | null;
    }
  /** A piece of a call's input, which is JSON. */
  | { readonly kind: "call-input"; readonly call: number; readonly text: string }
  | { readonly kind: "call-end"; readonly call: number; readonly signature: Signature | null }
  | {
      readonly kind: "finish";
      readonly reason: FinishReason;
      /** The stop sequence that ended the answer, where the upstream tells it. */
      readonly stopSequence: string | null;
      /** `null`: the upstream has reported none. */
      readonly usage: Usage | null;
      /** What the provider says about an answer that its filter has ended. Absent: nothing. */
      readonly filtered?: Filtered;
    };

/** Why a provider's filter has ended an answer. */
export interface Filtered {
  /** The provider's name for the kind of harm, such as `cyber`; `null`: it names none. */
  readonly category: string | null;
  /** Words for people; `null`: there are none. */
  readonly explanation: string | null;
}

/** A page on the web, with the part of the text that refers to it: from one character to another. */
export interface Citation {
  readonly url: string;
  /** May be empty. */
  readonly title: string;
  readonly start: number;
  readonly end: number;
}

/** A token with the logarithm of its probability. */
export type Logprob = {
  readonly token: string;
  readonly logprob: number;
  /** Those of the token in UTF-8. A token may be a part of a character. */
  readonly bytes: readonly number[];
};

/** A token of an answer, with the most probable ones in its place. OpenAI's formats have it in this form. */
export type TokenLogprob = Logprob & { readonly top_logprobs: readonly Logprob[] };

/** What a piece from the upstream contains. */
export interface AnswerPiece {
  readonly events: readonly AnswerEvent[];
  /** The usage that the upstream has reported so far, also before the `finish`; `null`: none. */
  readonly usageSoFar: Usage | null;
}

/** `length`: the maximum of tokens was reached. `filter`: the provider's filter ended the answer. */
export type FinishReason = "stop" | "length" | "calls" | "filter";
