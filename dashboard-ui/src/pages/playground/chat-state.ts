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
  /** The model's answer, for a message that a model wrote and the user has not edited since. */
  readonly told: ToldAnswer | null;
}

/** A model's answer with its circumstances. */
export interface ToldAnswer {
  readonly model: string;
  readonly answer: Answer;
  readonly outcome: "underway" | "whole" | "stopped" | "broken";
  /** `null` until the service has begun to answer. */
  readonly requestId: string | null;
  /** Milliseconds from the request to the first content; `null` without streaming. */
  readonly firstMs: number | null;
  /** Milliseconds from the request to the end. */
  readonly totalMs: number | null;
}

export interface Draft {
  readonly role: Role;
  readonly text: string;
}

/** The last removal from the conversation, which can be undone. */
export interface Removal {
  readonly what: "message" | "conversation";
  /** The conversation before the removal. */
  readonly messages: readonly ChatMessage[];
}

export interface ChatState {
  /** The model chosen last, for a page whose address names none. */
  readonly model: string | null;
  readonly system: string;
  readonly messages: readonly ChatMessage[];
  readonly draft: Draft;
  readonly parameters: ParameterTexts;
  readonly stream: boolean;
  readonly isRunning: boolean;
  readonly failure: ChatFailure | null;
  readonly removal: Removal | null;
  /** The announcement for screen readers when an answer has ended. */
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

/** The request for the current conversation. Empty messages are left out, because most models refuse them. */
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
