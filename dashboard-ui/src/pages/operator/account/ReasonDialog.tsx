import type { UseMutationResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import { FormDialog } from "../../../components/FormDialog.tsx";
import { Reason } from "./Reason.tsx";

interface ReasonDialogProps {
  readonly title: string;
  /** The consequences of the change. */
  readonly children: ReactNode;
  /** The label of the submit button. */
  readonly action: string;
  readonly look: "primary" | "danger";
  readonly mustGiveReason: boolean;
  readonly change: Pick<UseMutationResult, "isPending"> & { readonly error: unknown };
  readonly onSubmit: (reason: string) => void;
  readonly onClose: () => void;
}

/** A dialog that asks for the reason of a change. */
export function ReasonDialog(props: ReasonDialogProps) {
  const { title, children, action, look, mustGiveReason, change, onSubmit, onClose } = props;
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={title}
      action={action}
      look={look}
      isPending={change.isPending}
      error={errorTextBeside(change.error, ["reason"])}
      onSubmit={() => onSubmit(reason)}
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
