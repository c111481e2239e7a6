import type { ReactNode, RefObject, SubmitEvent } from "react";
import { Button } from "./Button.tsx";
import dialogStyles from "./Dialog.module.css";
import { Dialog } from "./Dialog.tsx";
import formStyles from "./form.module.css";
import { FormError } from "./Notice.tsx";

interface FormDialogProps {
  readonly title: string;
  /** The fields, and the information that the reader needs before they submit. */
  readonly children: ReactNode;
  /** The label of the submit button: "Create key". */
  readonly action: string;
  readonly look?: "primary" | "danger";
  /** Whether a request is pending. The dialog then cannot be closed or submitted again. */
  readonly isPending: boolean;
  /** Why the form can't be submitted yet. Without a reason it can. */
  readonly offReason?: string | undefined;
  readonly isDisabled?: boolean;
  /** The error to show above the buttons; errors of a field are shown at the field. */
  readonly error: string | null;
  /** The field that the reader begins with, where it is not the first element. */
  readonly initialFocus?: RefObject<HTMLElement | null>;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
}

/** A dialog with a form: cancel and submit, the error above the buttons. */
export function FormDialog(props: FormDialogProps) {
  const {
    title,
    children,
    action,
    look = "primary",
    isPending,
    isDisabled,
    offReason,
    error,
    initialFocus,
    onSubmit,
    onClose,
  } = props;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Dialog title={title} onDismiss={isPending ? undefined : onClose} initialFocus={initialFocus}>
      <form onSubmit={submit} className={formStyles.form}>
        {children}
        <FormError text={error} />
        <div className={dialogStyles.dialogActions}>
          <Button onClick={onClose} disabled={isPending}>
            Cancel
          </Button>
          <Button type="submit" look={look} busy={isPending} disabled={isDisabled} offReason={offReason}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
