import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import { HISTORY_DATABASE } from "../../components/storage.ts";
import { attachmentsOf, reopened, type SavedChat } from "./chat-state.ts";

/** A conversation in the list. */
export interface ChatEntry {
  readonly id: string;
  readonly userId: string;
  readonly title: string;
  /** Whether the user has given it its title. */
  readonly isRenamed: boolean;
  readonly models: readonly string[];
  /** Unix milliseconds. */
  readonly updatedMs: number;
  /** The size of its attachments. */
  readonly bytes: number;
}

interface HistorySchema extends DBSchema {
  /** What the list shows, apart from the conversations, which may be large. */
  entries: { key: string; value: ChatEntry };
  chats: { key: string; value: SavedChat };
}

const VERSION = 1;
/** The oldest conversations beyond either maximum are deleted. */
const MAX_CHATS = 100;
const MAX_BYTES = 100 * 1_024 * 1_024;

let opened: Promise<IDBPDatabase<HistorySchema>> | null = null;

function open(): Promise<IDBPDatabase<HistorySchema>> {
  opened ??= openDB<HistorySchema>(HISTORY_DATABASE, VERSION, {
    upgrade: (database) => {
      database.createObjectStore("entries", { keyPath: "id" });
      database.createObjectStore("chats");
    },
    // The database is being deleted, because the user has signed out in this tab or another.
    blocking: (_, __, event) => {
      (event.target as IDBDatabase | null)?.close();
      opened = null;
    },
    terminated: () => {
      opened = null;
    },
  });
  opened.catch(() => {
    opened = null;
  });
  return opened;
}

/** The user's conversations, the latest first. @throws if the browser allows no storage. */
export async function listChats(userId: string): Promise<readonly ChatEntry[]> {
  const entries = await (await open()).getAll("entries");
  return entries.filter((entry) => entry.userId === userId).sort((a, b) => b.updatedMs - a.updatedMs);
}

/** A conversation, or `null` if it was deleted in the meantime. */
export async function readChat(id: string): Promise<SavedChat | null> {
  const saved = await (await open()).get("chats", id);
  return saved === undefined ? null : reopened(saved);
}

/** Stores a conversation under its id. A title that the user has given stays. */
export async function writeChat(
  entry: Omit<ChatEntry, "bytes" | "isRenamed">,
  chat: SavedChat,
): Promise<void> {
  const database = await open();
  const transaction = database.transaction(["entries", "chats"], "readwrite");
  const entries = transaction.objectStore("entries");
  const before = await entries.get(entry.id);
  const isRenamed = before?.isRenamed === true;
  const bytes = attachmentsOf(chat).reduce((sum, { url }) => sum + (url?.length ?? 0), 0);
  await entries.put({ ...entry, title: isRenamed ? before.title : entry.title, isRenamed, bytes });
  await transaction.objectStore("chats").put(chat, entry.id);
  for (const id of idsBeyondMax(await entries.getAll(), entry.userId)) {
    await entries.delete(id);
    await transaction.objectStore("chats").delete(id);
  }
  await transaction.done;
}

/** The entries to delete: those of other users, and the oldest beyond the maximum number or size. The latest one stays. */
export function idsBeyondMax(entries: readonly ChatEntry[], userId: string): readonly string[] {
  const others = entries.filter((entry) => entry.userId !== userId);
  const own = entries.filter((entry) => entry.userId === userId).sort((a, b) => b.updatedMs - a.updatedMs);
  let bytes = 0;
  const excess = own.filter((entry, index) => {
    bytes += entry.bytes;
    return index > 0 && (index >= MAX_CHATS || bytes > MAX_BYTES);
  });
  return [...others, ...excess].map(({ id }) => id);
}

export async function renameChat(id: string, title: string): Promise<void> {
  const transaction = (await open()).transaction("entries", "readwrite");
  const entry = await transaction.store.get(id);
  if (entry !== undefined) await transaction.store.put({ ...entry, title, isRenamed: true });
  await transaction.done;
}

export async function deleteChats(ids: readonly string[]): Promise<void> {
  const transaction = (await open()).transaction(["entries", "chats"], "readwrite");
  for (const id of ids) {
    await transaction.objectStore("entries").delete(id);
    await transaction.objectStore("chats").delete(id);
  }
  await transaction.done;
}
