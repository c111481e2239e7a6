import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { Answer } from "../../components/Answer.tsx";
import { formatUsdRoughly } from "../../components/format.ts";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import { wholeDays } from "../usage/period.ts";
import usageStyles from "../usage/usage.module.css";
import { useCurrentHour } from "../usage/use-current-hour.ts";
import styles from "./Credit.module.css";
import { outlookOf, RATE_DAYS } from "./outlook.ts";

const REFRESH_MS = 30_000;

/** The account's balance, and how long it lasts. */
export function Credit() {
  const hour = useCurrentHour();
  const balance = useQuery(api.credits.balance.queryOptions(undefined, { refetchInterval: REFRESH_MS }));
  const usage = useQuery(api.usage.summary.queryOptions({ ...wholeDays(RATE_DAYS, hour), groupBy: "none" }));
  return (
    <section className={panelStyles.panel} aria-labelledby="credit">
      <div className={panelStyles.panelHead}>
        <h2 id="credit">Credit</h2>
        <Link to="/settings/credits">All credits</Link>
      </div>
      <Answer query={balance} what="the balance">
        {({ balanceNanoUsd }) => (
          <div className={styles.overviewCredit}>
            <p className={usageStyles.usageFigure}>{formatUsdRoughly(balanceNanoUsd)}</p>
            {usage.data === undefined ? null : (
              <Outlook balanceNanoUsd={balanceNanoUsd} spentNanoUsd={usage.data.total.costNanoUsd} />
            )}
          </div>
        )}
      </Answer>
    </section>
  );
}

interface OutlookProps {
  readonly balanceNanoUsd: bigint;
  readonly spentNanoUsd: bigint;
}

function Outlook({ balanceNanoUsd, spentNanoUsd }: OutlookProps) {
  const { words, isShort } = outlookOf(balanceNanoUsd, spentNanoUsd);
  const rate = spentNanoUsd / BigInt(RATE_DAYS);
  return (
    <>
      <p className={isShort ? styles.overviewCreditShort : undefined}>{words}</p>
      {spentNanoUsd > 0n ? (
        <p className={textStyles.small}>Average spend: {formatUsdRoughly(rate)} per day.</p>
      ) : null}
    </>
  );
}
