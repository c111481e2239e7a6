import { Paged } from "../../../components/Paged.tsx";
import { ActionTable } from "../trail/ActionTable.tsx";
import { useTrail } from "../trail/use-trail.ts";

/** Who changed what in the account. */
export function AccountTrail({ accountId }: { readonly accountId: string }) {
  const { query, actions } = useTrail({ accountId, page: 20 });
  return (
    <section className="console-part" aria-labelledby="trail">
      <h2 id="trail">Audit trail</h2>
      <Paged query={query} what="changes">
        {query.isSuccess && actions.length === 0 ? (
          <p className="quiet">Nothing of this account has been changed yet.</p>
        ) : null}
        {actions.length > 0 ? <ActionTable actions={actions} of="account" /> : null}
      </Paged>
    </section>
  );
}
