import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api } from "../../../api/client.ts";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import { formatCount } from "../../../api/format.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { Dialog } from "../../../components/Dialog.tsx";
import { Notice } from "../../../components/Notice.tsx";
import { changeOptions } from "./changes.ts";
import { Reason } from "./Reason.tsx";

interface SuspendProps {
  readonly account: AccountDetails;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks why: all that uses the account's keys stops at once. */
export function Suspend({ account, onDone, onClose }: SuspendProps) {
  const [reason, setReason] = useState("");
  const { id, name, activeKeys } = account;
  const { onSuccess, onSettled } = changeOptions(id);
  const suspend = useMutation(
    api.operator.accounts.suspend.mutationOptions({
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
    suspend.mutate({ id, reason });
  };
  const formError = errorTextBeside(suspend.error, ["reason"]);
  return (
    <Dialog title={`Suspend “${name}”?`} onDismiss={suspend.isPending ? undefined : onClose}>
      <form className="form" onSubmit={submit}>
        <p>
          Every request with a key of this account is refused from now on, until it is reinstated
          {activeKeys === 0 ? "" : `: it has ${formatCount(activeKeys)} active`}. Its management tokens are
          refused too.
        </p>
        {formError === null ? null : <Notice tone="error">{formError}</Notice>}
        <Reason required value={reason} onChange={setReason} error={errorTextAt(suspend.error, "reason")} />
        <div className="dialog-actions">
          <Button onClick={onClose} disabled={suspend.isPending}>
            Cancel
          </Button>
          <Button type="submit" look="danger" busy={suspend.isPending}>
            Suspend account
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
