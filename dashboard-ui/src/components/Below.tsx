import type { ReactNode } from "react";
import styles from "./Below.module.css";

interface BelowProps {
  /** The queries of what stands above. */
  readonly queries: readonly { readonly isPending: boolean }[];
  readonly children: ReactNode;
}

/** What stands below the data of queries. It loads together with them, but is shown only after them, so that it does not move. */
export function Below({ queries, children }: BelowProps) {
  return (
    <div className={styles.below} hidden={queries.some(({ isPending }) => isPending)}>
      {children}
    </div>
  );
}
