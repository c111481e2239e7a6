import type { ReactNode } from "react";
import styles from "./PageHead.module.css";
import { Title } from "./Title.tsx";

interface PageHeadProps {
  readonly title: string;
  /** A link above the title to the parent page. */
  readonly crumb?: ReactNode;
  /** A sentence below the title that says what the page is for. */
  readonly lead?: ReactNode;
  /** The page's actions. */
  readonly children?: ReactNode;
}

/** The header of a page. */
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
