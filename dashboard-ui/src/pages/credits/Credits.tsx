import { LearnMore } from "../../components/LearnMore.tsx";
import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { Balance } from "./Balance.tsx";
import styles from "./Credits.module.css";
import { LedgerTable } from "./LedgerTable.tsx";
import { useLedger } from "./use-ledger.ts";

/** Settings → Credits. */
export function Credits() {
  const { lines, ...query } = useLedger();
  return (
    <>
      <PageHead crumb="Settings" title="Credits" lead="All keys of the account share this credit." />
      <Balance />
      <section className={styles.creditLedger} aria-labelledby="ledger">
        <h2 id="ledger">Ledger</h2>
        <Paged query={query} what="entries">
          {lines.length > 0 ? <LedgerTable lines={lines} /> : null}
          {query.isSuccess && lines.length === 0 ? (
            <Empty title="No transactions">
              <p>Grants, adjustments and charges appear here.</p>
              <LearnMore about="credits" />
            </Empty>
          ) : null}
        </Paged>
      </section>
    </>
  );
}
