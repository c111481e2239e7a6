import { newId } from "./attachment.ts";
import { hasContent, type SavedChat, titleOf } from "./chat-state.ts";
import { keepChat } from "./kept-chat.ts";

/** The time after which another tab is taken to have the chat. A tab that reloads gives its chat up before, and takes it again. */
const CLAIM_TIMEOUT_MS = 1_000;

/** The history is loaded when it is needed: not for the page's first load. */
export const loadHistory = () => import("./history.ts");

/** A tab's claim to be the only one that stores a chat. */
interface Claim {
  /** The id of the chat, or of a copy: another tab has the chat. */
  readonly ownId: Promise<string>;
  release(): void;
}

interface ChatStoreParts {
  readonly userId: string;
  /** Whether the user is still the one whose chat it is. */
  readonly isCurrent: () => boolean;
  /** Called when the chat goes on under another id. */
  readonly onCopy: (id: string) => void;
}

/**
 * Stores the open chat: in the tab, and in the history, which all tabs share. A duplicated tab has a copy of the original's storage, and the
 * history opens a chat in several tabs. So that they do not overwrite each other's messages, only the first of them stores the chat under its id.
 */
export class ChatStore {
  readonly #parts: ChatStoreParts;
  #id: string;
  #claim: Claim;
  #isChanged = false;

  constructor(parts: ChatStoreParts, id: string) {
    this.#parts = parts;
    this.#id = id;
    this.#claim = this.#claimChat(id);
  }

  /** Goes on with another chat. `isStored`: the history has it as it is. */
  open(id: string, isStored: boolean): void {
    this.#claim.release();
    this.#id = id;
    this.#isChanged = !isStored;
    this.#claim = this.#claimChat(id);
  }

  /** Lets another tab have the chat, until it is claimed again. */
  release(): void {
    this.#claim.release();
  }

  claimAgain(): void {
    this.open(this.#id, !this.#isChanged);
  }

  /** Notes that the chat differs from what the history has. */
  change(): void {
    this.#isChanged = true;
  }

  keep(saved: SavedChat): void {
    // The chat of a user who has signed out is not stored.
    if (!this.#parts.isCurrent()) return;
    keepChat(this.#parts.userId, this.#id, saved);
    if (!this.#isChanged || !hasContent(saved)) return;
    this.#isChanged = false;
    void this.#keepInHistory(this.#claim, saved);
  }

  async #keepInHistory({ ownId }: Claim, saved: SavedChat): Promise<void> {
    const { userId, isCurrent } = this.#parts;
    const models = saved.lanes.flatMap(({ model }) => (model === null ? [] : [model]));
    const entry = { userId, title: titleOf(saved), models, updatedMs: Date.now() };
    try {
      const [id, { writeChat }] = await Promise.all([ownId, loadHistory()]);
      // The user may have signed out in the meantime.
      if (isCurrent()) await writeChat({ id, ...entry }, saved);
    } catch {
      // Browsers may forbid storage or have no space left. The chat is still in the tab.
    }
  }

  /** Browsers lock names for pages of HTTPS and of this machine only. Elsewhere every tab takes the chat for its own. */
  #claimChat(id: string): Claim {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isOwn = new Promise<boolean>((resolve) => {
      if (!("locks" in navigator)) return resolve(true);
      const hold = () => {
        resolve(true);
        return released;
      };
      const signal = AbortSignal.timeout(CLAIM_TIMEOUT_MS);
      navigator.locks.request(`playground chat ${id}`, { signal }, hold).catch(() => resolve(false));
    });
    const claim = {
      ownId: isOwn.then((own) => {
        if (own) return id;
        const copy = newId();
        // Another chat may be open by now.
        if (this.#claim === claim) {
          this.#id = copy;
          this.#claim = this.#claimChat(copy);
          this.#parts.onCopy(copy);
        }
        return copy;
      }),
      release,
    };
    return claim;
  }
}
