import { useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useId, useState } from "react";
import { queryClient } from "../../api/client.ts";
import { Button } from "../../components/Button.tsx";
import { isComposing } from "../../components/composing.ts";
import dialogStyles from "../../components/Dialog.module.css";
import { Dialog } from "../../components/Dialog.tsx";
import { formatDateTime } from "../../components/format.ts";
import { Loading, Notice } from "../../components/Notice.tsx";
import { RowMenu } from "../../components/RowMenu.tsx";
import textStyles from "../../components/text.module.css";
import { toast } from "../../components/toast.ts";
import { Pencil, Trash2 } from "../../icons/icons.ts";
import type { SavedChat } from "./chat-state.ts";
import styles from "./HistoryDialog.module.css";
import { type ChatEntry, deleteChats, listChats, readChat, renameChat } from "./history.ts";

interface HistoryDialogProps {
  readonly userId: string;
  /** The id of the open chat. */
  readonly openId: string;
  readonly open: (id: string, chat: SavedChat) => void;
  /** Called after the open chat was deleted. */
  readonly onDelete: () => void;
  readonly onClose: () => void;
}

/** The chats that this browser keeps: open, rename, delete. */
export function HistoryDialog({ userId, openId, open, onDelete, onClose }: HistoryDialogProps) {
  const queryKey = ["playground-history", userId];
  const chats = useQuery({
    queryKey,
    queryFn: () => listChats(userId),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const [isClearing, setClearing] = useState(false);
  const [hasFailed, setFailed] = useState(false);

  /** @param done what is said of the change once it is made. */
  const act = async (change: () => Promise<void>, done?: string) => {
    try {
      await change();
      if (done !== undefined) toast(done);
      setFailed(false);
    } catch {
      setFailed(true);
    }
    await queryClient.invalidateQueries({ queryKey });
  };
  const remove = (ids: readonly string[], done: string) =>
    act(async () => {
      // The open chat is replaced first: it would be stored again.
      if (ids.includes(openId)) onDelete();
      await deleteChats(ids);
      setClearing(false);
    }, done);
  const openEntry = (id: string) =>
    act(async () => {
      const chat = await readChat(id);
      if (chat === null) return;
      open(id, chat);
      onClose();
    });
  const entries = chats.data ?? [];

  return (
    <Dialog title="History" onDismiss={onClose}>
      <p className={textStyles.quiet}>
        Chats are kept in this browser only, never on the server. Signing out deletes them.
      </p>
      {hasFailed || chats.isError ? (
        <Notice tone="error">This browser does not let the page store chats. Check its settings.</Notice>
      ) : null}
      {chats.isPending ? <Loading what="chats" /> : null}
      {chats.isSuccess && entries.length === 0 ? <p>No chats yet. Send a message to begin one.</p> : null}
      <ul className={styles.entries}>
        {entries.map((entry) => (
          <Entry
            key={entry.id}
            entry={entry}
            isOpen={entry.id === openId}
            open={() => void openEntry(entry.id)}
            rename={(title) => void act(() => renameChat(entry.id, title), `Chat renamed to “${title}”`)}
            remove={() => void remove([entry.id], `Chat “${entry.title}” deleted`)}
          />
        ))}
      </ul>
      <div className={dialogStyles.dialogActions}>
        {entries.length === 0 ? null : isClearing ? (
          <Button
            look="danger"
            onClick={({ detail }) => {
              // The second click of a double click on the button before was no answer.
              if (detail > 1) return;
              const ids = entries.map(({ id }) => id);
              void remove(ids, "Chats deleted");
            }}
          >
            Delete {entries.length === 1 ? "the chat" : `all ${entries.length} chats`}
          </Button>
        ) : (
          <Button onClick={() => setClearing(true)}>Clear all</Button>
        )}
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

interface EntryProps {
  readonly entry: ChatEntry;
  readonly isOpen: boolean;
  readonly open: () => void;
  readonly rename: (title: string) => void;
  readonly remove: () => void;
}

function Entry({ entry, isOpen, open, rename, remove }: EntryProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const id = useId();
  const { title, models, updatedMs } = entry;
  if (draft !== null) {
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      if (draft.trim() !== "") rename(draft.trim());
      setDraft(null);
    };
    return (
      <li className={styles.entry}>
        <form onSubmit={submit} className={styles.form}>
          <label className={textStyles.visuallyHidden} htmlFor={id}>
            Name of {title}
          </label>
          <input
            id={id}
            // biome-ignore lint/a11y/noAutofocus: the field replaces the button that was pressed
            autoFocus
            maxLength={200}
            value={draft}
            onChange={({ target }) => setDraft(target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape" || isComposing(event)) return;
              // Escape would close the dialog too.
              event.stopPropagation();
              setDraft(null);
            }}
          />
          <Button type="submit">Save</Button>
        </form>
      </li>
    );
  }
  return (
    <li className={styles.entry}>
      <button type="button" className={styles.open} onClick={open} aria-current={isOpen}>
        <span dir="auto">{title}</span>
        <span className={textStyles.small}>
          {formatDateTime(new Date(updatedMs))} · {models.join(", ")}
        </span>
      </button>
      <RowMenu
        of={title}
        parts={[
          [
            {
              label: "Rename",
              icon: <Pencil size={16} aria-hidden="true" />,
              onSelect: () => setDraft(title),
            },
          ],
          [
            {
              label: "Delete",
              icon: <Trash2 size={16} aria-hidden="true" />,
              tone: "danger",
              onSelect: remove,
            },
          ],
        ]}
      />
    </li>
  );
}
