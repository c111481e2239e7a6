import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "../../components/Button.tsx";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { SERVICE_TRAIL_SIZE, trailQuery } from "./queries.ts";
import { ActionTable } from "./trail/ActionTable.tsx";

/** The changes in all accounts. */
export function Trail() {
  const query = useInfiniteQuery(trailQuery({ pageSize: SERVICE_TRAIL_SIZE }));
  const actions = query.data?.pages.flatMap((page) => page.actions) ?? [];
  return (
    <>
      <PageHead title="Audit trail" lead="Every change to accounts, keys and users, newest first.">
        <Button busy={query.isRefetching && !query.isFetchingNextPage} onClick={() => void query.refetch()}>
          Refresh
        </Button>
      </PageHead>
      <Paged query={query} what="changes">
        {query.isSuccess && actions.length === 0 ? (
          <Empty title="No changes yet">
            <p>Sign-ups and changes appear here.</p>
          </Empty>
        ) : null}
        {actions.length > 0 ? <ActionTable actions={actions} of="service" /> : null}
      </Paged>
    </>
  );
}
