import type { UseMutationResult } from "@tanstack/react-query";
import { type ReactNode, type SubmitEvent, useState } from "react";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import { Button } from "../../../components/Button.tsx";
import { Dialog } from "../../../components/Dialog.tsx";
import { Notice } from "../../../components/Notice.tsx";
import { Reason } from "./Reason.tsx";

interface ReasonDialogProps {
  readonly title: string;
  /** What will come of it. */
  readonly children: ReactNode;
  /** What is pressed to do it. */
  readonly action: string;
  readonly look: "primary" | "danger";
  readonly mustGiveReason: boolean;
  readonly change: Pick<UseMutationResult, "isPending"> & { readonly error: unknown };
  readonly onSubmit: (reason: string) => void;
  readonly onClose: () => void;
}

/** Asks why before an account is changed. */
export function ReasonDialog(props: ReasonDialogProps) {
  const { title, children, action, look, mustGiveReason, change, onSubmit, onClose } = props;
  const [reason, setReason] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onSubmit(reason);
  };
  const formError = errorTextBeside(change.error, ["reason"]);
  return (
    <Dialog title={title} onDismiss={change.isPending ? undefined : onClose}>
      <form className="form" onSubmit={submit}>
        <p>{children}</p>
        {formError === null ? null : <Notice tone="error">{formError}</Notice>}
        <Reason
          required={mustGiveReason}
          value={reason}
          onChange={setReason}
          error={errorTextAt(change.error, "reason")}
        />
        <div className="dialog-actions">
          <Button onClick={onClose} disabled={change.isPending}>
            Cancel
          </Button>
          <Button type="submit" look={look} busy={change.isPending}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
