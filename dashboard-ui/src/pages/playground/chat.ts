import { noticeSignedOut } from "../../api/client.ts";
import { onClearSession, sessionStore } from "../../components/storage.ts";
import { isEmpty, NO_ANSWER } from "./answer.ts";
import { ask } from "./ask.ts";
import {
  bodyOf,
  type ChatMessage,
  type ChatState,
  NEW_CHAT,
  type Role,
  type ToldAnswer,
} from "./chat-state.ts";
import { failureOf } from "./failure.ts";

const KEPT_AS = "playground";
/** The version of the stored format. State of another version is discarded. */
const KEPT_VERSION = 1;
/** The delay before state is stored, so that it is not written for every letter. */
const KEEP_AFTER_MS = 300;
/** The maximum length of an announcement. A screen reader cannot skip through one, so longer answers are read in the conversation. */
const ANNOUNCED_LENGTH = 1_000;

let current: { readonly userId: string; readonly chat: Chat } | null = null;

onClearSession(() => {
  current?.chat.stop();
  current = null;
});

/** Returns the user's conversation, which continues while they visit other pages and survives a reload of the tab. */
export function chatOf(userId: string): Chat {
  if (current?.userId === userId) return current.chat;
  // Another user has signed in, so the previous conversation is discarded.
  current?.chat.stop();
  current = { userId, chat: new Chat(userId) };
  return current.chat;
}

/** A conversation with models: its messages, its settings and its requests. */
export class Chat {
  readonly #userId: string;
  readonly #listeners = new Set<() => void>();
  #state: ChatState;
  #running: AbortController | null = null;
  #keeping: ReturnType<typeof setTimeout> | undefined;
  #frame: number | null = null;

  constructor(userId: string) {
    this.#userId = userId;
    this.#state = readKept(userId);
    addEventListener("pagehide", () => this.#keep());
  }

  /** Arguments of `useSyncExternalStore`, together with {@link state}. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): ChatState => this.#state;

  /** Changes the settings. */
  set(change: Partial<Pick<ChatState, "model" | "system" | "draft" | "parameters" | "stream">>): void {
    this.#change(change);
  }

  /** Adds the draft to the conversation. */
  add(): void {
    const { draft, messages } = this.#state;
    if (draft.text.trim() === "") return;
    const message: ChatMessage = { id: nextId(messages), role: draft.role, text: draft.text, told: null };
    this.#change({ messages: [...messages, message], draft: { role: "user", text: "" }, removal: null });
  }

  edit(id: number, role: Role, text: string): void {
    const messages = this.#state.messages.map((message) => {
      if (message.id !== id) return message;
      // An edited message is no longer the model's answer.
      return { id, role, text, told: message.text === text && message.role === role ? message.told : null };
    });
    this.#change({ messages, removal: null });
  }

  remove(id: number): void {
    const { messages } = this.#state;
    const rest = messages.filter((message) => message.id !== id);
    this.#change({ messages: rest, removal: { what: "message", messages } });
  }

  clear(): void {
    const { messages } = this.#state;
    this.stop();
    const left = messages.map(asLeft);
    this.#change({ messages: [], failure: null, removal: { what: "conversation", messages: left } });
  }

  putBack(): void {
    const { removal } = this.#state;
    if (removal !== null) this.#change({ messages: removal.messages, removal: null });
  }

  stop(): void {
    this.#running?.abort();
  }

  /** Sends the conversation with the draft. Resolves when the answer has ended, successfully or not. */
  async send(model: string, keyUuid: string): Promise<void> {
    if (this.#running !== null) return;
    this.add();
    await this.#run(model, keyUuid);
  }

  /** Requests the last answer again, or the one that is missing at the end of the conversation. */
  async sendAgain(model: string, keyUuid: string): Promise<void> {
    if (this.#running !== null) return;
    const { messages } = this.#state;
    if (messages.at(-1)?.told != null) this.#change({ messages: messages.slice(0, -1), removal: null });
    await this.#run(model, keyUuid);
  }

  async #run(model: string, keyUuid: string): Promise<void> {
    const { messages, draft } = this.#state;
    const body = bodyOf({ ...this.#state, draft: { ...draft, text: "" } }, model);
    const running = new AbortController();
    this.#running = running;
    const id = nextId(messages);
    let told: ToldAnswer = {
      model,
      answer: NO_ANSWER,
      outcome: "underway",
      requestId: null,
      firstMs: null,
      totalMs: null,
    };
    this.#change({
      messages: [...messages, { id, role: "assistant", text: "", told }],
      isRunning: true,
      failure: null,
      removal: null,
      announcement: "",
    });
    const sentMs = performance.now();
    const elapsedMs = () => Math.round(performance.now() - sentMs);
    const tell = (news: Partial<ToldAnswer>) => {
      told = { ...told, ...news };
      this.#tell(id, told);
    };
    try {
      for await (const { requestId, answer } of ask({ body, keyUuid, signal: running.signal })) {
        const isFirst = body.stream === true && told.firstMs === null && !isEmpty(answer);
        tell({ requestId, answer, ...(isFirst ? { firstMs: elapsedMs() } : {}) });
      }
      tell({ outcome: "whole", totalMs: elapsedMs() });
      this.#end({ announcement: announcementOf(told) });
    } catch (thrown) {
      const isStopped = running.signal.aborted;
      tell({ outcome: isStopped ? "stopped" : "broken", totalMs: elapsedMs() });
      if (isStopped) this.#end({ announcement: "Stopped." });
      else this.#fail(thrown, told, id);
    }
  }

  #fail(thrown: unknown, told: ToldAnswer, id: number): void {
    const failure = failureOf(thrown, told.requestId);
    const { messages } = this.#state;
    const kept = isEmpty(told.answer) ? messages.filter((message) => message.id !== id) : messages;
    this.#end({ failure, messages: kept });
    if (failure.code === "not_signed_in") {
      // The state is stored now, because the user is about to leave the page and perhaps the tab.
      this.#keep();
      noticeSignedOut();
    }
  }

  #end(change: Partial<ChatState>): void {
    this.#running = null;
    this.#change({ ...change, isRunning: false });
  }

  /** Limits updates to the screen's refresh rate. */
  #tell(id: number, told: ToldAnswer): void {
    const messages = this.#state.messages.map((message) =>
      message.id === id ? { ...message, text: told.answer.text, told } : message,
    );
    this.#state = { ...this.#state, messages };
    this.#frame ??= requestAnimationFrame(() => this.#notify());
  }

  #change(change: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...change };
    clearTimeout(this.#keeping);
    this.#keeping = setTimeout(() => this.#keep(), KEEP_AFTER_MS);
    this.#notify();
  }

  #notify(): void {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    this.#frame = null;
    for (const listener of this.#listeners) listener();
  }

  #keep(): void {
    clearTimeout(this.#keeping);
    // The conversation of a user who has signed out is not stored.
    if (current?.chat !== this) return;
    const { isRunning: _, announcement: __, removal: ___, ...kept } = this.#state;
    sessionStore.write(KEPT_AS, JSON.stringify({ version: KEPT_VERSION, userId: this.#userId, kept }));
  }
}

function nextId(messages: readonly ChatMessage[]): number {
  return Math.max(0, ...messages.map(({ id }) => id)) + 1;
}

function announcementOf({ answer: { text, calls } }: ToldAnswer): string {
  if (text === "") return calls.length > 0 ? "The answer is a tool call." : "The answer is empty.";
  return text.length > ANNOUNCED_LENGTH ? `Answer: ${text.slice(0, ANNOUNCED_LENGTH)} …` : `Answer: ${text}`;
}

function readKept(userId: string): ChatState {
  try {
    // The stored state is this module's own output. State of another version or user is discarded.
    const read = JSON.parse(sessionStore.read(KEPT_AS) ?? "null");
    if (read?.version !== KEPT_VERSION || read.userId !== userId) return NEW_CHAT;
    const state: ChatState = { ...NEW_CHAT, ...read.kept };
    return { ...state, messages: state.messages.map(asLeft) };
  } catch {
    return NEW_CHAT;
  }
}

/** Marks an answer that was incomplete when the page was closed as ended. */
function asLeft(message: ChatMessage): ChatMessage {
  const { told } = message;
  return told?.outcome === "underway" ? { ...message, told: { ...told, outcome: "stopped" } } : message;
}
