import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button } from "./Button.tsx";
import { CopyButton } from "./CopyButton.tsx";
import dialogStyles from "./Dialog.module.css";
import { Dialog } from "./Dialog.tsx";
import formStyles from "./form.module.css";
import styles from "./ShownOnce.module.css";

type Secret = "key" | "token" | "password";

/** How to store each secret, and what to do when it is lost. */
const ADVICE: Readonly<Record<Secret, string>> = {
  key: "Store it in a secret manager now. A lost key can't be recovered, only revoked.",
  token: "Store it in a secret manager now. A lost token can't be recovered, only revoked.",
  password: "Send it to the user over a secure channel. A lost password can't be recovered, only reset.",
};

interface ShownOnceProps {
  readonly title: string;
  readonly what: Secret;
  readonly secret: string;
  readonly lead?: ReactNode;
  /** Content below the secret that helps to try it. */
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

/** Shows a secret that cannot be shown again, until the user confirms that they have stored it. */
export function ShownOnce({ title, what, secret, lead, children, onClose }: ShownOnceProps) {
  const [stored, setStored] = useState(false);
  // Going back or an expired session must not remove the secret before it is stored.
  useBlocker({ shouldBlockFn: () => !stored, enableBeforeUnload: () => !stored });
  return (
    <Dialog title={title}>
      {lead}
      <p>
        The {what} is shown only once. {ADVICE[what]}
      </p>
      <div className={styles.secret}>
        <code data-testid={`${what}-string`}>{secret}</code>
      </div>
      <CopyButton text={secret} what={what} look={stored ? "plain" : "primary"} />
      {children}
      <label className={formStyles.check}>
        <input type="checkbox" checked={stored} onChange={(event) => setStored(event.target.checked)} />I have
        stored it
      </label>
      <div className={dialogStyles.dialogActions}>
        <Button look="primary" disabled={!stored} onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

/** A collapsed command that tries the secret. */
export function TryWithCurl({ command }: { readonly command: string }) {
  return (
    <details className={styles.snippet}>
      <summary>Try it with curl</summary>
      <pre>
        <code>{command}</code>
      </pre>
      <CopyButton text={command} what="command" />
    </details>
  );
}
