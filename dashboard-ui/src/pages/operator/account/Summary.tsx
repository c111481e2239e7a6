import { Link } from "@tanstack/react-router";
import type { AccountDetails } from "../../../api/types.ts";
import { CopyButton } from "../../../components/CopyButton.tsx";
import { classes } from "../../../components/classes.ts";
import { Fact } from "../../../components/Fact.tsx";
import {
  formatBalance,
  formatCount,
  formatDate,
  formatUsd,
  formatUsdRoughly,
} from "../../../components/format.ts";
import listsStyles from "../../../components/lists.module.css";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import { LastRequest } from "../LastRequest.tsx";
import { planLabel } from "../plans.ts";
import { StateBadge } from "../StateBadge.tsx";
import styles from "./Summary.module.css";

/** The account's main properties, with its balance as the display figure. */
export function Summary({ account }: { readonly account: AccountDetails }) {
  const { id, balanceNanoUsd } = account;
  const rough = formatBalance(balanceNanoUsd);
  const exact = formatUsd(balanceNanoUsd);
  return (
    <section className={classes(panelStyles.panel, styles.summary)} aria-label="Summary">
      <div>
        <p className={textStyles.quiet}>Balance</p>
        <p className={styles.balance}>{rough}</p>
        {rough === exact ? null : <p className={textStyles.small}>Exactly {exact}</p>}
      </div>
      <dl className={classes(listsStyles.figures, styles.accountFacts)}>
        <Fact name="State">
          <StateBadge state={account.state} />
        </Fact>
        <Fact name="Plan">{planLabel(account.plan)}</Fact>
        <Fact name="Requests, 30 days">{formatCount(account.recentRequests)}</Fact>
        <Fact name="Cost, 30 days">{formatUsdRoughly(account.recentCostNanoUsd)}</Fact>
        <Fact name="Active keys">{formatCount(account.activeKeys)}</Fact>
        <Fact name="Last request">
          <LastRequest account={account} />
        </Fact>
        <Fact name="Created">
          <time dateTime={account.createdAt.toISOString()}>{formatDate(account.createdAt)}</time>
        </Fact>
      </dl>
      <div className={styles.accountId}>
        <span>
          <span className={textStyles.quiet}>ID</span> <code>{id}</code>
        </span>
        <CopyButton short text={id} what="ID" />
        <Link to="/operator/security" search={{ accountId: id }}>
          Security events
        </Link>
      </div>
    </section>
  );
}
