import { useInfiniteQuery } from "@tanstack/react-query";
import type { AccountDetails } from "../../../api/types.ts";
import { Paged } from "../../../components/Paged.tsx";
import textStyles from "../../../components/text.module.css";
import { ACCOUNT_TRAIL_SIZE, trailQuery } from "../queries.ts";
import { ActionTable } from "../trail/ActionTable.tsx";

/** The credit that operators have granted to the account or taken back. */
export function CreditHistory({ account: { id } }: { readonly account: AccountDetails }) {
  const query = useInfiniteQuery(
    trailQuery({ accountId: id, action: "account.grantCredits", pageSize: ACCOUNT_TRAIL_SIZE }),
  );
  const actions = query.data?.pages.flatMap((page) => page.actions) ?? [];
  return (
    <Paged query={query} what="changes">
      {query.isSuccess && actions.length === 0 ? (
        <p className={textStyles.quiet}>
          No operator has granted or deducted credit. The Usage tab shows what requests cost.
        </p>
      ) : null}
      {actions.length > 0 ? <ActionTable actions={actions} of="account" /> : null}
    </Paged>
  );
}
