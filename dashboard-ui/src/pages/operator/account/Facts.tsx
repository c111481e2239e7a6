import type { ReactNode } from "react";
import type { AccountDetails } from "../../../api/types.ts";
import { CopyButton } from "../../../components/CopyButton.tsx";
import { classes } from "../../../components/classes.ts";
import { formatCount, formatDate, formatUsd } from "../../../components/format.ts";
import listsStyles from "../../../components/lists.module.css";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import { StateBadge } from "../StateBadge.tsx";
import styles from "./Facts.module.css";

/** The account's main properties. */
export function Facts({ account }: { readonly account: AccountDetails }) {
  return (
    <section className={panelStyles.panel} aria-label="Facts">
      <dl className={classes(listsStyles.figures, styles.accountFacts)}>
        <Fact name="State">
          <StateBadge state={account.state} />
        </Fact>
        <Fact name="Plan">{account.plan}</Fact>
        <Fact name="Balance">{formatUsd(account.balanceNanoUsd)}</Fact>
        <Fact name="Active keys">{formatCount(account.activeKeys)}</Fact>
        <Fact name="Created">
          <time dateTime={account.createdAt.toISOString()}>{formatDate(account.createdAt)}</time>
        </Fact>
      </dl>
      <div className={styles.accountId}>
        <span>
          <span className={textStyles.quiet}>ID</span> <code>{account.id}</code>
        </span>
        <CopyButton text={account.id} what="ID" />
      </div>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
