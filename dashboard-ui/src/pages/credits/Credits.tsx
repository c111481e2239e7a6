import { Empty } from "../../components/Notice.tsx";
import { Paged } from "../../components/Paged.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { Balance } from "./Balance.tsx";
import "./credits.css";
import { LedgerTable } from "./LedgerTable.tsx";
import { useLedger } from "./use-ledger.ts";

/** Settings → Credits. */
export function Credits() {
  const { lines, ...query } = useLedger();
  return (
    <>
      <PageHead
        crumb="Settings"
        title="Credits"
        lead="Every request is paid for from the account's credits, whichever key it was made with."
      />
      <Balance />
      <section className="credit-ledger" aria-labelledby="ledger">
        <h2 id="ledger">Ledger</h2>
        <Paged query={query} what="entries">
          {lines.length > 0 ? <LedgerTable lines={lines} /> : null}
          {query.isSuccess && lines.length === 0 ? (
            <Empty title="Nothing came in or went out yet">
              <p>Grants, adjustments and the charges for requests stand here.</p>
            </Empty>
          ) : null}
        </Paged>
      </section>
    </>
  );
}
