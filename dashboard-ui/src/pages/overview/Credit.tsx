import { Link } from "@tanstack/react-router";
import { classes } from "../../components/classes.ts";
import { formatBalance, formatUsdRoughly } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import { type CreditState, RATE_DAYS } from "../credits/outlook.ts";
import { useOutlook } from "../credits/use-outlook.ts";
import usageStyles from "../usage/usage.module.css";
import styles from "./Credit.module.css";

const TONES: Readonly<Record<CreditState, string | undefined>> = {
  empty: styles.overviewCreditEmpty,
  short: styles.overviewCreditEmpty,
  low: styles.overviewCreditLow,
  unknown: undefined,
  ample: undefined,
};

/** The account's balance, and how long it lasts. */
export function Credit() {
  const { balance, spend, outlook } = useOutlook();
  const tone = outlook === undefined ? undefined : TONES[outlook.state];
  return (
    <section className={classes(panelStyles.panel, tone)} aria-labelledby="credit">
      <div className={panelStyles.panelHead}>
        <h2 id="credit">Credit</h2>
        <Link to="/settings/credits">All credits</Link>
      </div>
      <Loaded query={balance} what="the balance">
        {({ balanceNanoUsd }) => (
          <div className={styles.overviewCredit}>
            <p className={usageStyles.usageFigure}>{formatBalance(balanceNanoUsd)}</p>
            {outlook === undefined ? null : <p>{outlook.words}</p>}
            {spend === undefined || spend.spentNanoUsd === 0n ? null : (
              <p className={textStyles.small}>
                Average spend: {formatUsdRoughly(spend.spentNanoUsd / BigInt(RATE_DAYS))} per day.
              </p>
            )}
          </div>
        )}
      </Loaded>
    </section>
  );
}
