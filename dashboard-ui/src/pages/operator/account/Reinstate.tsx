import { useMutation } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { changeOptions } from "./changes.ts";
import { givenReason } from "./Reason.tsx";
import { ReasonDialog } from "./ReasonDialog.tsx";

interface ReinstateProps {
  readonly account: AccountDetails;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Ends a suspension. */
export function Reinstate({ account, onDone, onClose }: ReinstateProps) {
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
  return (
    <ReasonDialog
      title={`Reinstate “${name}”?`}
      action="Reinstate account"
      look="primary"
      mustGiveReason={false}
      change={reinstate}
      onSubmit={(reason) => reinstate.mutate({ id, ...givenReason(reason) })}
      onClose={onClose}
    >
      Its API keys and management tokens work again immediately.
    </ReasonDialog>
  );
}
