import type { Answer } from "./answer.ts";
import type { ChatFailure } from "./failure.ts";
import { type ParameterTexts, parametersOf } from "./parameters.ts";

export const ROLES = ["user", "assistant"] as const;
export type Role = (typeof ROLES)[number];

export interface ChatMessage {
  /** Unique within the conversation. */
  readonly id: number;
  readonly role: Role;
  readonly text: string;
  /** Of a message that a model wrote and nobody has edited since. */
  readonly told: ToldAnswer | null;
}

/** A model's answer, and how it came about. */
export interface ToldAnswer {
  readonly model: string;
  readonly answer: Answer;
  readonly outcome: "underway" | "whole" | "stopped" | "broken";
  /** `null` until the service has begun to answer. */
  readonly requestId: string | null;
  /** Milliseconds from the request to the first that was said; `null` where it was not streamed. */
  readonly firstMs: number | null;
  /** Milliseconds from the request to the end. */
  readonly totalMs: number | null;
}

export interface Draft {
  readonly role: Role;
  readonly text: string;
}

/** What was taken out of the conversation last, so that it can be put back. */
export interface Removal {
  readonly what: "message" | "conversation";
  /** The conversation as it was before. */
  readonly messages: readonly ChatMessage[];
}

export interface ChatState {
  /** The model chosen last, for whoever comes back without one. */
  readonly model: string | null;
  readonly system: string;
  readonly messages: readonly ChatMessage[];
  readonly draft: Draft;
  readonly parameters: ParameterTexts;
  readonly stream: boolean;
  readonly isRunning: boolean;
  readonly failure: ChatFailure | null;
  readonly removal: Removal | null;
  /** What screen readers are told, when an answer has ended. */
  readonly announcement: string;
}

export const NEW_CHAT: ChatState = {
  model: null,
  system: "",
  messages: [],
  draft: { role: "user", text: "" },
  parameters: {},
  stream: true,
  isRunning: false,
  failure: null,
  removal: null,
  announcement: "",
};

/** The body of a chat request. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly stream?: boolean;
  readonly [parameter: string]: unknown;
}

/** The request that the conversation makes as it stands. What says nothing is not sent: most models refuse it. */
export function bodyOf(state: ChatState, model: string): ChatBody {
  const { system, messages, draft, parameters, stream } = state;
  const said = [...messages, draft].filter(({ text }) => text.trim() !== "");
  return {
    model,
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system", content: system }]),
      ...said.map(({ role, text }) => ({ role, content: text })),
    ],
    ...parametersOf(parameters),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}
