import { useInfiniteQuery } from "@tanstack/react-query";
import { Paged } from "../../../components/Paged.tsx";
import textStyles from "../../../components/text.module.css";
import consoleStyles from "../console.module.css";
import { ACCOUNT_TRAIL_SIZE, trailQuery } from "../queries.ts";
import { ActionTable } from "../trail/ActionTable.tsx";

/** The changes in one account. */
export function AccountTrail({ accountId }: { readonly accountId: string }) {
  const query = useInfiniteQuery(trailQuery({ accountId, pageSize: ACCOUNT_TRAIL_SIZE }));
  const actions = query.data?.pages.flatMap((page) => page.actions) ?? [];
  return (
    <section className={consoleStyles.consolePart} aria-labelledby="trail">
      <h2 id="trail">Audit trail</h2>
      <Paged query={query} what="changes">
        {query.isSuccess && actions.length === 0 ? (
          <p className={textStyles.quiet}>No changes to this account yet.</p>
        ) : null}
        {actions.length > 0 ? <ActionTable actions={actions} of="account" /> : null}
      </Paged>
    </section>
  );
}
