import { client } from "../../../api/client.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { givenReason } from "./Reason.tsx";
import { ReasonDialog } from "./ReasonDialog.tsx";

interface ReinstateProps {
  readonly account: AccountDetails;
  readonly onClose: () => void;
}

/** Ends a suspension. */
export function Reinstate({ account: { id, name }, onClose }: ReinstateProps) {
  return (
    <ReasonDialog
      accountId={id}
      title={`Reinstate “${name}”?`}
      action="Reinstate account"
      look="primary"
      mustGiveReason={false}
      change={(reason) => client.operator.accounts.reinstate.mutate({ id, ...givenReason(reason) })}
      done="Account reinstated"
      onClose={onClose}
    >
      Its API keys and management tokens work again immediately.
    </ReasonDialog>
  );
}
