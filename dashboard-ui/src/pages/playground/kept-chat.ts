import { sessionStore } from "../../components/storage.ts";
import { newId } from "./attachment.ts";
import {
  attachmentsOf,
  type ChatState,
  NEW_CHAT,
  reopened,
  type SavedChat,
  withContents,
} from "./chat-state.ts";

const KEPT_AS = "playground";
/** The version of the stored format. State of another version is discarded. */
const KEPT_VERSION = 2;
/** The maximum size of attachments in the tab's storage, which is small. Larger ones are only in the history. */
const MAX_KEPT_LENGTH = 1_500_000;

/** Keeps a chat in the tab, where it survives a reload. */
export function keepChat(userId: string, id: string, saved: SavedChat): void {
  const kept = { version: KEPT_VERSION, userId, id, saved: withoutLargeContents(saved) };
  sessionStore.write(KEPT_AS, JSON.stringify(kept));
}

/** The chat that the tab has kept for a user, or a new one. */
export function readKeptChat(userId: string): ChatState {
  const circumstances = { target: null, removal: null, announcement: "" };
  const fresh = { ...NEW_CHAT, ...circumstances, id: newId() };
  try {
    // The stored state is this module's own output. State of another version or user is discarded.
    const read = JSON.parse(sessionStore.read(KEPT_AS) ?? "null");
    if (read?.version !== KEPT_VERSION || read.userId !== userId) return fresh;
    return { ...fresh, ...reopened(read.saved), id: read.id };
  } catch {
    return fresh;
  }
}

function withoutLargeContents(saved: SavedChat): SavedChat {
  const length = attachmentsOf(saved).reduce((sum, { url }) => sum + (url?.length ?? 0), 0);
  return length > MAX_KEPT_LENGTH ? withContents(saved, () => null) : saved;
}
