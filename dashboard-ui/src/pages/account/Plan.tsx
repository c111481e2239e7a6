import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { AccountView } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import { Fact } from "../../components/Fact.tsx";
import { formatBalance, formatCounted, formatDate, formatDateTime } from "../../components/format.ts";
import listsStyles from "../../components/lists.module.css";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";

/** The account's name, plan and state. */
export function Plan({ account }: { readonly account: AccountView }) {
  const { suspension } = account;
  const balance = useQuery(api.credits.balance.queryOptions());
  return (
    <section className={panelStyles.panel} aria-labelledby="plan">
      <div className={panelStyles.panelHead}>
        <h2 id="plan">
          <bdi>{account.name}</bdi>
        </h2>
        <Badge tone="good">{account.plan}</Badge>
      </div>
      <dl className={listsStyles.figures}>
        <Fact name="State">
          {suspension === null
            ? "Active"
            : `Suspended since ${formatDateTime(suspension.at)}: ${suspension.reason}`}
        </Fact>
        <Fact name="Credit">
          <Link to="/settings/credits">
            {balance.data !== undefined
              ? formatBalance(balance.data.balanceNanoUsd)
              : balance.isError
                ? "Could not be loaded"
                : "…"}
          </Link>
        </Fact>
        <Fact name="Log retention">
          {account.auditRetentionDays === null
            ? "Unlimited"
            : formatCounted(account.auditRetentionDays, "day")}
        </Fact>
        <Fact name="Stored responses">
          {account.responsesTtlDays === 0
            ? "None"
            : `${formatCounted(account.responsesTtlDays, "day")}, encrypted`}
        </Fact>
        <Fact name="Created">{formatDate(account.createdAt)}</Fact>
      </dl>
      {account.responsesTtlDays > 0 && (
        <p className={textStyles.small}>
          Responses of the Responses API are stored with their prompts, so that later requests can continue
          them. Send <code>store: false</code> to store nothing. Prompts of other requests are never stored.
        </p>
      )}
      <p className={textStyles.small}>To change plan or limits, contact the operator of the service.</p>
    </section>
  );
}
