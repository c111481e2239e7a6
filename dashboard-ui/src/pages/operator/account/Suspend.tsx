import { client } from "../../../api/client.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { formatCounted } from "../../../components/format.ts";
import { ReasonDialog } from "./ReasonDialog.tsx";

interface SuspendProps {
  readonly account: AccountDetails;
  readonly onClose: () => void;
}

/** Asks for a reason and suspends the account, whose keys are refused at once. */
export function Suspend({ account: { id, name, activeKeys }, onClose }: SuspendProps) {
  return (
    <ReasonDialog
      accountId={id}
      title={`Suspend “${name}”?`}
      action="Suspend account"
      look="danger"
      mustGiveReason={true}
      change={(reason) => client.operator.accounts.suspend.mutate({ id, reason })}
      done="Account suspended"
      onClose={onClose}
    >
      Every request with a key of this account is refused until you reinstate it
      {activeKeys === 0 ? "" : ` (${formatCounted(activeKeys, "active key")})`}. Its management tokens are
      refused too.
    </ReasonDialog>
  );
}
