import { Button } from "../../components/Button.tsx";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { ActionTable } from "./trail/ActionTable.tsx";
import { useTrail } from "./trail/use-trail.ts";

/** Who changed what, in every account. */
export function Trail() {
  const { query, actions } = useTrail({ page: 50 });
  return (
    <>
      <PageHead
        title="Audit trail"
        lead="Every change of an account, its keys and its users: by whom, when and from where. Newest first."
      >
        <Button busy={query.isRefetching && !query.isFetchingNextPage} onClick={() => void query.refetch()}>
          Refresh
        </Button>
      </PageHead>
      <Paged query={query} what="changes">
        {query.isSuccess && actions.length === 0 ? (
          <Empty title="Nothing has been changed yet">
            <p>As soon as somebody signs up, or changes something, it stands here.</p>
          </Empty>
        ) : null}
        {actions.length > 0 ? <ActionTable actions={actions} of="service" /> : null}
      </Paged>
    </>
  );
}
