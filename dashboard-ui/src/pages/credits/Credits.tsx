import { useInfiniteQuery } from "@tanstack/react-query";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import textStyles from "../../components/text.module.css";
import { Balance } from "./Balance.tsx";
import styles from "./Credits.module.css";
import { StatementTable } from "./StatementTable.tsx";
import { statementQuery } from "./statement-query.ts";

/** Settings → Credits. */
export function Credits() {
  const query = useInfiniteQuery(statementQuery());
  const lines = query.data?.pages.flatMap((page) => page.lines) ?? [];
  return (
    <>
      <PageHead crumb="Settings" title="Credits" lead="All keys of the account share this credit." />
      <Balance />
      <section className={styles.creditStatement} aria-labelledby="statement">
        <h2 id="statement">Statement</h2>
        <p className={textStyles.small}>
          Each line of requests is the total of one UTC day. Today's grows until midnight UTC.
        </p>
        <Paged query={query} what="entries">
          {lines.length > 0 ? <StatementTable lines={lines} /> : null}
          {query.isSuccess && lines.length === 0 ? (
            <Empty title="No transactions" art="money">
              <p>Grants, adjustments and the cost of each day's requests appear here.</p>
              <LearnMore about="credits" />
            </Empty>
          ) : null}
        </Paged>
      </section>
    </>
  );
}
