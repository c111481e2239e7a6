import { useEffect, useId, useState } from "react";
import { Button } from "../../components/Button.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import dialogStyles from "../../components/Dialog.module.css";
import { Dialog } from "../../components/Dialog.tsx";
import formStyles from "../../components/form.module.css";
import { Loading, Notice } from "../../components/Notice.tsx";
import textStyles from "../../components/text.module.css";
import { type SavedChat, savedOf } from "./chat-state.ts";
import { type SharedFragment, sharedFragment } from "./share.ts";

interface ShareDialogProps {
  readonly chat: SavedChat;
  readonly onClose: () => void;
}

/** A link that opens the request for another user. */
export function ShareDialog({ chat, onClose }: ShareDialogProps) {
  const id = useId();
  const [shared, setShared] = useState<SharedFragment | "pending" | "too long">("pending");
  // The link is of the chat as it was when the dialog was opened.
  const [saved] = useState(() => savedOf(chat));
  useEffect(() => {
    let isOpen = true;
    void sharedFragment(saved).then((fragment) => {
      if (isOpen) setShared(fragment ?? "too long");
    });
    return () => {
      isOpen = false;
    };
  }, [saved]);
  const link = typeof shared === "string" ? null : `${location.origin}/playground#${shared.fragment}`;

  return (
    <Dialog title="Share as link" onDismiss={onClose}>
      <p className={textStyles.quiet}>
        The link contains the messages and settings, and no API key. Readers need an account here; nothing is
        sent until they send it.
      </p>
      {shared === "pending" ? <Loading what="the link" /> : null}
      {shared === "too long" ? (
        <Notice tone="warning">The chat is too long for a link. Delete messages, or use View as code.</Notice>
      ) : null}
      {typeof shared !== "string" && shared.lacksAttachments ? (
        <Notice tone="warning">The attachments are too large for a link and are left out.</Notice>
      ) : null}
      {link === null ? null : (
        <div className={formStyles.field}>
          <label htmlFor={id}>Link</label>
          <input id={id} readOnly value={link} onFocus={({ target }) => target.select()} />
        </div>
      )}
      <div className={dialogStyles.dialogActions}>
        {link === null ? null : <CopyButton text={link} what="link" />}
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
