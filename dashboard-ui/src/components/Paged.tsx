import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "./Button.tsx";
import { LoadError, Loading } from "./Notice.tsx";
import styles from "./Paged.module.css";
import textStyles from "./text.module.css";

/** The part of an infinite query that the list uses. */
interface PagedQuery {
  readonly data: { readonly pages: readonly unknown[] } | undefined;
  readonly isPlaceholderData: boolean;
  readonly isPending: boolean;
  readonly isError: boolean;
  readonly error: unknown;
  readonly isFetching: boolean;
  readonly isFetchingNextPage: boolean;
  readonly isFetchNextPageError: boolean;
  readonly hasNextPage: boolean;
  refetch(): Promise<unknown>;
  fetchNextPage(): Promise<{ readonly hasNextPage: boolean; readonly isError: boolean }>;
}

interface PagedProps {
  readonly query: PagedQuery;
  /** The kind of items, such as "accounts". */
  readonly what: string;
  /** How much of the list is shown, such as "50 of 75 shown", for lists whose length is known. */
  readonly shown?: string | undefined;
  readonly children: ReactNode;
}

/** A paginated list: its loading state, its error, its items, and a button that loads more. */
export function Paged({ query, what, shown, children }: PagedProps) {
  const [asking, setAsking] = useState<"never" | "now" | "done">("never");
  const foot = useRef<HTMLDivElement>(null);
  const { isFetchingNextPage } = query;
  // Of another list, which other filters have, nothing was read further.
  const hasReadOn = !query.isPlaceholderData && (query.data?.pages.length ?? 0) > 1;

  const loadMore = async () => {
    setAsking("now");
    await query.fetchNextPage();
    setAsking("done");
  };

  useEffect(() => {
    if (asking !== "done" || isFetchingNextPage || document.activeElement !== document.body) return;
    // The pressed button is gone, so the focus moves to its successor.
    (foot.current?.querySelector("button") ?? foot.current)?.focus({ preventScroll: true });
  }, [asking, isFetchingNextPage]);

  return (
    <>
      {query.isPending ? <Loading what={what} /> : null}
      {query.isError && !query.isFetchNextPageError ? (
        <LoadError
          error={query.error}
          busy={query.isFetching}
          hasData={query.data !== undefined}
          retry={() => void query.refetch()}
        />
      ) : null}
      {children}
      {query.hasNextPage || hasReadOn ? (
        <div ref={foot} tabIndex={-1} className={styles.more}>
          {query.isFetchNextPageError ? (
            <LoadError error={query.error} busy={isFetchingNextPage} retry={() => void loadMore()} />
          ) : query.hasNextPage ? (
            <>
              {shown === undefined ? null : <p className={textStyles.small}>{shown}</p>}
              <Button busy={isFetchingNextPage} onClick={() => void loadMore()}>
                Load more {what}
              </Button>
            </>
          ) : (
            <p className={textStyles.small}>No more {what}.</p>
          )}
        </div>
      ) : null}
    </>
  );
}
