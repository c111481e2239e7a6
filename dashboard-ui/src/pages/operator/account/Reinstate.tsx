import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api } from "../../../api/client.ts";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { Dialog } from "../../../components/Dialog.tsx";
import { Notice } from "../../../components/Notice.tsx";
import { changeOptions } from "./changes.ts";
import { givenReason, Reason } from "./Reason.tsx";

interface ReinstateProps {
  readonly account: AccountDetails;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Ends a suspension. */
export function Reinstate({ account, onDone, onClose }: ReinstateProps) {
  const [reason, setReason] = useState("");
  const { id, name } = account;
  const { onSuccess, onSettled } = changeOptions(id);
  const reinstate = useMutation(
    api.operator.accounts.reinstate.mutationOptions({
      onSuccess: (answer) => {
        onSuccess(answer);
        onDone();
        onClose();
      },
      onSettled,
    }),
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    reinstate.mutate({ id, ...givenReason(reason) });
  };
  const formError = errorTextBeside(reinstate.error, ["reason"]);
  return (
    <Dialog title={`Reinstate “${name}”?`} onDismiss={reinstate.isPending ? undefined : onClose}>
      <form className="form" onSubmit={submit}>
        <p>Requests with its keys and management tokens are let in again from now on.</p>
        {formError === null ? null : <Notice tone="error">{formError}</Notice>}
        <Reason value={reason} onChange={setReason} error={errorTextAt(reinstate.error, "reason")} />
        <div className="dialog-actions">
          <Button onClick={onClose} disabled={reinstate.isPending}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={reinstate.isPending}>
            Reinstate account
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
