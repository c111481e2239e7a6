import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import pageHeadStyles from "../../components/PageHead.module.css";
import type { Chat } from "./chat.ts";
import { type ChatState, hasContent } from "./chat-state.ts";

// Dialogs are a good part of the page's script, so they are loaded when they are opened.
const viewAs = lazyCode(async () => (await import("./ViewAs.tsx")).ViewAs);
const historyDialog = lazyCode(async () => (await import("./HistoryDialog.tsx")).HistoryDialog);
const shareDialog = lazyCode(async () => (await import("./ShareDialog.tsx")).ShareDialog);

interface TalkActionsProps {
  readonly chat: Chat;
  readonly state: ChatState;
  readonly userId: string;
  /** Called after another chat was opened. */
  readonly onChange: () => void;
  /** Called after a chat of the history was opened. */
  readonly onOpen: () => void;
}

/** The actions of the whole chat. */
export function TalkActions({ chat, state, userId, onChange, onOpen }: TalkActionsProps) {
  const [dialog, setDialog] = useState<"code" | "history" | "share" | null>(null);
  const onClose = () => setDialog(null);
  const [lane] = state.lanes;
  const startNew = () => {
    chat.startNew();
    onChange();
  };
  return (
    <div className={pageHeadStyles.pageActions}>
      <Button disabled={!hasContent(state)} onClick={startNew}>
        New chat
      </Button>
      <Button onClick={() => setDialog("history")}>History</Button>
      <Button onClick={() => setDialog("share")}>Share</Button>
      <Button disabled={lane?.model == null} onClick={() => setDialog("code")}>
        View as code
      </Button>
      {dialog === "code" && lane?.model != null ? (
        <LazyDialog code={viewAs} props={{ state, lane, model: lane.model, onClose }} />
      ) : null}
      {dialog === "share" ? <LazyDialog code={shareDialog} props={{ chat: state, onClose }} /> : null}
      {dialog === "history" ? (
        <LazyDialog
          code={historyDialog}
          props={{
            userId,
            openId: state.id,
            open: (id, saved) => {
              chat.openStored(id, saved);
              onChange();
              onOpen();
            },
            onDelete: () => chat.discard(),
            onClose,
          }}
        />
      ) : null}
    </div>
  );
}
