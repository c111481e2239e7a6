import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { Paged } from "../../../components/Paged.tsx";
import textStyles from "../../../components/text.module.css";
import consoleStyles from "../console.module.css";
import { ACCOUNT_TRAIL_SIZE, trailQuery } from "../queries.ts";
import { ActionTable } from "../trail/ActionTable.tsx";
import { GrantCredit } from "./GrantCredit.tsx";

/** The credit that operators have granted to the account or taken back, and a button to do so. */
export function CreditHistory({ account }: { readonly account: AccountDetails }) {
  const [isGranting, setGranting] = useState(false);
  const query = useInfiniteQuery(
    trailQuery({ accountId: account.id, action: "account.grantCredits", pageSize: ACCOUNT_TRAIL_SIZE }),
  );
  const actions = query.data?.pages.flatMap((page) => page.actions) ?? [];
  return (
    <div className={consoleStyles.consolePart}>
      <div className={consoleStyles.consoleRow}>
        <Button onClick={() => setGranting(true)}>Grant or deduct credit</Button>
      </div>
      <Paged query={query} what="changes">
        {query.isSuccess && actions.length === 0 ? (
          <p className={textStyles.quiet}>
            No operator has granted or deducted credit. The Usage tab shows what requests cost.
          </p>
        ) : null}
        {actions.length > 0 ? <ActionTable actions={actions} of="account" /> : null}
      </Paged>
      {isGranting ? <GrantCredit account={account} onClose={() => setGranting(false)} /> : null}
    </div>
  );
}
