import type { ReactNode } from "react";
import type { AccountDetails } from "../../../api/types.ts";
import { CopyButton } from "../../../components/CopyButton.tsx";
import { formatCount, formatDate, formatUsd } from "../../../components/format.ts";
import { StateBadge } from "../StateBadge.tsx";

/** What an account is. */
export function Facts({ account }: { readonly account: AccountDetails }) {
  return (
    <section className="panel" aria-label="Facts">
      <dl className="figures account-facts">
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
      <div className="account-id">
        <span>
          <span className="quiet">Id</span> <code>{account.id}</code>
        </span>
        <CopyButton text={account.id} what="id" />
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
