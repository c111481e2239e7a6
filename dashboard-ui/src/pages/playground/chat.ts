import { noticeSignedOut } from "../../api/client.ts";
import { onClearSession } from "../../components/storage.ts";
import { isEmpty, NO_ANSWER } from "./answer.ts";
import { type Accepted, attach, newId, refusalOf } from "./attachment.ts";
import {
  addedLane,
  attachmentsOf,
  bodyOf,
  type ChatMessage,
  type ChatState,
  draftMessage,
  EMPTY_DRAFT,
  type GeneratedAnswer,
  type Lane,
  MAX_LANES,
  nextId,
  type Role,
  type SavedChat,
  savedOf,
  sentAttachmentsOf,
  targetsOf,
  withContents,
  withLane,
  withMessage,
  withoutLastAnswer,
} from "./chat-state.ts";
import { ChatStore, loadHistory } from "./chat-store.ts";
import { failureOf } from "./failure.ts";
import { readKeptChat } from "./kept-chat.ts";
import { outputOf } from "./model-output.ts";
import { speechFile } from "./speech.ts";

/** The delay before state is stored, so that it is not written for every letter. */
const KEEP_AFTER_MS = 300;
/** The maximum length of an announcement. A screen reader cannot skip through one, so longer answers are read in the conversation. */
const ANNOUNCED_LENGTH = 1_000;

let current: { readonly userId: string; readonly chat: Chat } | null = null;

onClearSession(leaveChat);

function leaveChat(): void {
  current?.chat.close();
  current = null;
}

/** Returns the user's chat, which continues while they visit other pages and survives a reload of the tab. */
export function chatOf(userId: string): Chat {
  if (current?.userId === userId) return current.chat;
  // Another user has signed in, so the previous chat is discarded.
  leaveChat();
  current = { userId, chat: new Chat(userId) };
  return current.chat;
}

type Settings = Pick<
  ChatState,
  "system" | "draft" | "parameters" | "stream" | "tools" | "toolChoice" | "format" | "target"
>;

/** A chat with one model, or with several side by side: its messages, its settings and its requests. */
export class Chat {
  readonly #listeners = new Set<() => void>();
  readonly #running = new Map<number, AbortController>();
  readonly #store: ChatStore;
  #state: ChatState;
  #keeping: ReturnType<typeof setTimeout> | undefined;
  #frame: number | null = null;

  constructor(userId: string) {
    this.#state = readKeptChat(userId);
    const isCurrent = () => current?.chat === this;
    this.#store = new ChatStore({ userId, isCurrent, onCopy: (id) => this.#show({ id }) }, this.#state.id);
    addEventListener("pagehide", () => {
      this.#keep();
      this.#store.release();
    });
    addEventListener("pageshow", ({ persisted }) => {
      if (persisted && isCurrent()) this.#store.claimAgain();
    });
    void this.#fetchContents();
  }

  /** Arguments of `useSyncExternalStore`, together with {@link state}. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): ChatState => this.#state;

  /** Changes the settings. */
  set(change: Partial<Settings>): void {
    this.#change(change);
  }

  setModel(laneId: number, model: string): void {
    this.#changeLane(laneId, { model });
  }

  /** Adds a model to compare with. */
  addLane(model: string): void {
    const { lanes } = this.#state;
    if (lanes.length < MAX_LANES) this.#change({ lanes: [...lanes, addedLane(lanes, model)], removal: null });
  }

  removeLane(laneId: number): void {
    this.#keepLanes(({ id }) => id !== laneId);
  }

  /** Continues with one model. The chat with the other ones is deleted. */
  keepOnly(laneId: number): void {
    this.#keepLanes(({ id }) => id === laneId);
  }

  /** Adds the draft to the conversations that it goes to. */
  add(): void {
    const { draft, lanes } = this.#state;
    const targets = new Set(targetsOf(this.#state).map(({ id }) => id));
    const next = lanes.map((lane) => {
      const message = draftMessage(draft, nextId(lane.messages));
      return message !== null && targets.has(lane.id)
        ? { ...lane, messages: [...lane.messages, message] }
        : lane;
    });
    this.#change({ lanes: next, draft: EMPTY_DRAFT, removal: null });
  }

  /** Attaches files to the draft, up to the first that cannot be. @returns why that one cannot be attached. */
  async attach(files: readonly File[], accepted: Accepted): Promise<string | null> {
    for (const file of files) {
      const attachedBytes = sentAttachmentsOf(this.#state).reduce((sum, { bytes }) => sum + bytes, 0);
      const refusal = refusalOf(file, accepted, attachedBytes);
      if (refusal !== null) return refusal;
      const attachment = await attach(file).catch(() => null);
      if (attachment === null) return `${file.name} cannot be read. Choose it again.`;
      const { draft } = this.#state;
      this.#change({ draft: { ...draft, attachments: [...draft.attachments, attachment] } });
    }
    return null;
  }

  edit(laneId: number, id: number, role: Role, text: string): void {
    this.#changeMessage(laneId, id, (message) => ({
      ...message,
      role,
      text,
      // An edited message is no longer the model's answer.
      generated: message.text === text && message.role === role ? message.generated : null,
      calls: role === "assistant" ? message.calls : [],
    }));
  }

  /** Enters the result of a tool call. */
  setResult(laneId: number, id: number, callIndex: number, result: string): void {
    this.#changeMessage(laneId, id, (message) => ({
      ...message,
      calls: message.calls.map((call, index) => (index === callIndex ? { ...call, result } : call)),
    }));
  }

  remove(laneId: number, id: number): void {
    const { messages } = this.#lane(laneId);
    const rest = messages.filter((message) => message.id !== id);
    this.#changeLane(laneId, { messages: rest });
    this.#change({ removal: { laneId, messages } });
  }

  putBack(): void {
    const { removal } = this.#state;
    if (removal === null) return;
    this.#changeLane(removal.laneId, { messages: removal.messages });
    this.#change({ removal: null });
  }

  /** Ends its requests, and lets other tabs have it. */
  close(): void {
    this.stop();
    this.#store.release();
  }

  stop(): void {
    for (const running of this.#running.values()) running.abort();
  }

  /** Begins a new chat with the same models and settings. The present one stays in the history. */
  startNew(): void {
    this.#keep();
    this.discard();
  }

  /** Begins a new chat with the same models and settings. The present one is not stored again. */
  discard(): void {
    const { lanes } = this.#state;
    const empty = lanes.map((lane) => ({ ...lane, messages: [], isRunning: false, failure: null }));
    this.#replace(newId(), { ...savedOf(this.#state), lanes: empty, draft: EMPTY_DRAFT }, false);
  }

  /** Opens a chat of the history, and sends nothing. The present one stays in the history. */
  openStored(id: string, saved: SavedChat): void {
    this.#keep();
    this.#replace(id, saved, true);
  }

  /** Opens a chat from a link, and sends nothing. The present one stays in the history. */
  openShared(saved: SavedChat): void {
    this.#keep();
    this.#replace(newId(), saved, false);
  }

  #replace(id: string, saved: SavedChat, isStored: boolean): void {
    this.stop();
    this.#running.clear();
    this.#store.open(id, isStored);
    this.#show({ ...saved, id, target: null, removal: null, announcement: "" });
  }

  /** Sends the draft with each conversation that it goes to. Resolves when all answers have ended, successfully or not. */
  async send(keyUuid: string): Promise<void> {
    const targets = targetsOf(this.#state);
    if (targets.some(({ id }) => this.#running.has(id))) return;
    this.add();
    await Promise.all(targets.map(({ id }) => this.#run(id, keyUuid)));
  }

  /** Requests the last answer of a conversation again, or the one that is missing at its end. */
  async sendAgain(laneId: number, keyUuid: string): Promise<void> {
    if (this.#running.has(laneId)) return;
    this.#changeLane(laneId, { messages: withoutLastAnswer(this.#lane(laneId).messages) });
    await this.#run(laneId, keyUuid);
  }

  /** Requests the next message of a conversation as it stands: after the results of tool calls, for example. */
  async resume(laneId: number, keyUuid: string): Promise<void> {
    if (!this.#running.has(laneId)) await this.#run(laneId, keyUuid);
  }

  async #run(laneId: number, keyUuid: string): Promise<void> {
    const { messages, model } = this.#lane(laneId);
    if (model === null) return;
    const body = bodyOf(this.#state, messages, model, outputOf(model));
    const running = new AbortController();
    this.#running.set(laneId, running);
    const isCurrent = () => this.#running.get(laneId) === running;
    const id = nextId(messages);
    let generated = newAnswer(model, this.#state);
    const message: ChatMessage = { id, role: "assistant", text: "", attachments: [], calls: [], generated };
    this.#changeLane(laneId, { messages: [...messages, message], isRunning: true, failure: null });
    this.#change({ removal: null, announcement: "" });
    const sentMs = performance.now();
    const elapsedMs = () => Math.round(performance.now() - sentMs);
    const update = (news: Partial<GeneratedAnswer>) => {
      generated = { ...generated, ...news };
      // The chat that was open may have been replaced by another one.
      if (isCurrent()) this.#update(laneId, id, generated);
    };
    try {
      // The SDK's streams are loaded with the first request.
      const { ask } = await import("./ask.ts");
      for await (const { requestId, answer } of ask({ body, keyUuid, signal: running.signal })) {
        const isFirst = body.stream === true && generated.firstMs === null && !isEmpty(answer);
        update({ requestId, answer, ...(isFirst ? { firstMs: elapsedMs() } : {}) });
      }
      update({ outcome: "whole", totalMs: elapsedMs() });
      if (isCurrent()) this.#end(laneId, {}, announcementOf(generated));
    } catch (thrown) {
      const isStopped = running.signal.aborted;
      update({ outcome: isStopped ? "stopped" : "broken", totalMs: elapsedMs() });
      if (!isCurrent()) return;
      if (isStopped) this.#end(laneId, {}, "Stopped.");
      else this.#fail(laneId, thrown, generated, id);
    }
  }

  #fail(laneId: number, thrown: unknown, generated: GeneratedAnswer, id: number): void {
    const failure = failureOf(thrown, generated.requestId);
    const { messages } = this.#lane(laneId);
    const kept = isEmpty(generated.answer) ? messages.filter((message) => message.id !== id) : messages;
    this.#end(laneId, { failure, messages: kept }, "");
    if (failure.code === "not_signed_in") {
      // The state is stored now, because the user is about to leave the page and perhaps the tab.
      this.#keep();
      noticeSignedOut();
    }
  }

  #end(laneId: number, change: Partial<Lane>, announcement: string): void {
    this.#running.delete(laneId);
    this.#changeLane(laneId, { ...change, isRunning: false });
    // Answers side by side are announced once, when the last one has ended.
    if (this.#state.lanes.length === 1) this.#change({ announcement });
    else if (this.#running.size === 0) this.#change({ announcement: "All answers have ended." });
  }

  /** Limits updates to the screen's refresh rate. */
  #update(laneId: number, id: number, generated: GeneratedAnswer): void {
    const isWhole = generated.outcome === "whole";
    // Images and speech are kept once, as attachments.
    const { images = [], speech, ...answer } = generated.answer;
    const spoken = isWhole && speech !== undefined ? speechFile(speech) : null;
    const messages = withMessage(this.#lane(laneId).messages, id, (message) => ({
      ...message,
      text: answer.text,
      attachments: spoken === null ? images : [...images, spoken],
      calls: isWhole ? answer.calls.map((call) => ({ ...call, result: null })) : [],
      generated: { ...generated, answer },
    }));
    this.#store.change();
    this.#state = { ...this.#state, lanes: withLane(this.#state.lanes, laneId, { messages }) };
    this.#frame ??= requestAnimationFrame(() => this.#notify());
  }

  #lane(id: number): Lane {
    const lane = this.#state.lanes.find((one) => one.id === id);
    // A lane that was removed has no messages, and changes to it change nothing.
    return lane ?? { id, model: null, messages: [], isRunning: false, failure: null };
  }

  #keepLanes(isKept: (lane: Lane) => boolean): void {
    const lanes = this.#state.lanes.filter(isKept);
    if (lanes.length === 0) return;
    for (const [id, running] of this.#running) {
      if (lanes.some((lane) => lane.id === id)) continue;
      this.#running.delete(id);
      running.abort();
    }
    const { target } = this.#state;
    const isThere = lanes.length > 1 && lanes.some(({ id }) => id === target);
    this.#change({ lanes, target: isThere ? target : null, removal: null });
  }

  #changeMessage(laneId: number, id: number, change: (message: ChatMessage) => ChatMessage): void {
    this.#changeLane(laneId, { messages: withMessage(this.#lane(laneId).messages, id, change) });
    this.#change({ removal: null });
  }

  #changeLane(id: number, change: Partial<Lane>): void {
    this.#change({ lanes: withLane(this.#state.lanes, id, change) });
  }

  #change(change: Partial<ChatState>): void {
    this.#store.change();
    this.#show(change);
  }

  /** Changes the state by what the history need not store. */
  #show(change: Partial<ChatState>): void {
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
    this.#store.keep(savedOf(this.#state));
  }

  /** Reads contents of attachments, which the tab's storage does not hold, from the history. */
  async #fetchContents(): Promise<void> {
    const { id } = this.#state;
    if (attachmentsOf(this.#state).every(({ url }) => url !== null)) return;
    const stored = await loadHistory()
      .then(({ readChat }) => readChat(id))
      .catch(() => null);
    if (stored === null) return;
    const urls = new Map(attachmentsOf(stored).map((one) => [one.id, one.url]));
    this.#show(withContents(savedOf(this.#state), (one) => one.url ?? urls.get(one.id) ?? null));
  }
}

function newAnswer(model: string, { format }: SavedChat): GeneratedAnswer {
  return {
    model,
    answer: NO_ANSWER,
    outcome: "underway",
    format,
    requestId: null,
    firstMs: null,
    totalMs: null,
  };
}

function announcementOf({ answer: { text, calls, images = [] } }: GeneratedAnswer): string {
  if (text === "" && calls.length > 0) return "The answer is a tool call.";
  if (text === "") return images.length > 0 ? "The answer is an image." : "The answer is empty.";
  return text.length > ANNOUNCED_LENGTH ? `Answer: ${text.slice(0, ANNOUNCED_LENGTH)} …` : `Answer: ${text}`;
}
