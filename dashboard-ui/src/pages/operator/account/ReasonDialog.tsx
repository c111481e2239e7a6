import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { FormDialog } from "../../../components/FormDialog.tsx";
import { toast } from "../../../components/toast.ts";
import { useKept } from "../../../components/use-kept-draft.ts";
import { changeOptions } from "./changes.ts";
import { Reason } from "./Reason.tsx";

interface ReasonDialogProps {
  readonly accountId: string;
  readonly title: string;
  /** The consequences of the change. */
  readonly children: ReactNode;
  /** The label of the submit button. */
  readonly action: string;
  readonly look: "primary" | "danger";
  readonly mustGiveReason: boolean;
  readonly change: (reason: string) => Promise<{ readonly account: Partial<AccountDetails> }>;
  /** The message once the account has changed. */
  readonly done: string;
  readonly onClose: () => void;
}

/** A dialog that asks for the reason of a change of an account, and makes the change. */
export function ReasonDialog(props: ReasonDialogProps) {
  const { accountId, title, children, action, look, mustGiveReason, done, onClose } = props;
  const [reason, setReason] = useKept(`of the reason to ${action} of ${accountId}`, "");
  const { onSuccess, onSettled } = changeOptions(accountId);
  const change = useMutation({
    mutationFn: () => props.change(reason),
    onSuccess: (answer) => {
      onSuccess(answer);
      toast(done);
      onClose();
    },
    onSettled,
  });
  return (
    <FormDialog
      title={title}
      action={action}
      look={look}
      isPending={change.isPending}
      error={errorTextBeside(change.error, ["reason"])}
      onSubmit={() => change.mutate()}
      onClose={onClose}
    >
      <p>{children}</p>
      <Reason
        required={mustGiveReason}
        value={reason}
        onChange={setReason}
        error={errorTextAt(change.error, "reason")}
      />
    </FormDialog>
  );
}
