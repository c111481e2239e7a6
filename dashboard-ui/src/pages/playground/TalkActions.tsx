import { lazy, Suspense, useState } from "react";
import { Button } from "../../components/Button.tsx";
import pageHeadStyles from "../../components/PageHead.module.css";
import type { Chat } from "./chat.ts";
import { type ChatState, hasContent } from "./chat-state.ts";

// Dialogs are a good part of the page's script, so they are loaded when they are opened.
const ViewAs = lazy(async () => ({ default: (await import("./ViewAs.tsx")).ViewAs }));
const HistoryDialog = lazy(async () => ({ default: (await import("./HistoryDialog.tsx")).HistoryDialog }));
const ShareDialog = lazy(async () => ({ default: (await import("./ShareDialog.tsx")).ShareDialog }));

interface TalkActionsProps {
  readonly chat: Chat;
  readonly state: ChatState;
  readonly userId: string;
  /** Called after another chat was opened. */
  readonly onChange: () => void;
}

/** The actions of the whole chat. */
export function TalkActions({ chat, state, userId, onChange }: TalkActionsProps) {
  const [dialog, setDialog] = useState<"code" | "history" | "share" | null>(null);
  const close = () => setDialog(null);
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
      <Suspense>
        {dialog === "code" && lane?.model != null ? (
          <ViewAs state={state} lane={lane} model={lane.model} onClose={close} />
        ) : null}
        {dialog === "share" ? <ShareDialog chat={state} close={close} /> : null}
        {dialog === "history" ? (
          <HistoryDialog
            userId={userId}
            openId={state.id}
            open={(id, saved) => {
              chat.open(id, saved);
              onChange();
            }}
            onDelete={() => chat.discard()}
            close={close}
          />
        ) : null}
      </Suspense>
    </div>
  );
}
