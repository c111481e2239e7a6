import { useMutation } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { formatCount } from "../../../components/format.ts";
import { changeOptions } from "./changes.ts";
import { ReasonDialog } from "./ReasonDialog.tsx";

interface SuspendProps {
  readonly account: AccountDetails;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks for a reason and suspends the account, whose keys are refused at once. */
export function Suspend({ account, onDone, onClose }: SuspendProps) {
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
  return (
    <ReasonDialog
      title={`Suspend “${name}”?`}
      action="Suspend account"
      look="danger"
      mustGiveReason={true}
      change={suspend}
      onSubmit={(reason) => suspend.mutate({ id, reason })}
      onClose={onClose}
    >
      Every request with a key of this account is refused until you reinstate it
      {activeKeys === 0 ? "" : ` (${formatCount(activeKeys)} active keys)`}. Its management tokens are refused
      too.
    </ReasonDialog>
  );
}
