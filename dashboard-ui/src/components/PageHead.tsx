import type { ReactNode } from "react";
import styles from "./PageHead.module.css";
import { Title } from "./Title.tsx";

interface PageHeadProps {
  readonly title: string;
  /** Above the title: what the page is a part of. */
  readonly crumb?: ReactNode;
  /** Below it: what the page is for, in a sentence. */
  readonly lead?: ReactNode;
  /** What one does here. */
  readonly children?: ReactNode;
}

/** What stands at the top of every page. */
export function PageHead({ title, crumb, lead, children }: PageHeadProps) {
  return (
    <div className={styles.pageHead}>
      <div>
        {crumb === undefined ? null : <p className={styles.crumb}>{crumb}</p>}
        <Title>{title}</Title>
        {lead === undefined ? null : <p className={styles.lead}>{lead}</p>}
      </div>
      {children === undefined ? null : <div className={styles.pageActions}>{children}</div>}
    </div>
  );
}
