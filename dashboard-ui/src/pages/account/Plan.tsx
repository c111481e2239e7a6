import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { formatCount, formatDate, formatDateTime, formatUsd } from "../../api/format.ts";
import type { AccountView } from "../../api/types.ts";

/** What the account is, and what it may. */
export function Plan({ account }: { readonly account: AccountView }) {
  const { limitsInForce: limits, suspension } = account;
  const balance = useQuery(api.credits.balance.queryOptions());
  return (
    <section className="panel" aria-labelledby="plan">
      <h2 id="plan">{account.name}</h2>
      <dl className="figures">
        <Fact name="Plan">{account.plan}</Fact>
        <Fact name="State">
          {suspension === null
            ? account.state
            : `suspended since ${formatDateTime(suspension.at)}: ${suspension.reason}`}
        </Fact>
        <Fact name="Credit">{balance.data === undefined ? "…" : formatUsd(balance.data.balanceNanoUsd)}</Fact>
        <Fact name="Active keys">{most(account.keyLimit)}</Fact>
        <Fact name="Requests a minute">{most(limits.requestsPerMinute)}</Fact>
        <Fact name="Tokens a minute">{most(limits.tokensPerMinute)}</Fact>
        <Fact name="Requests at once">{most(limits.concurrentRequests)}</Fact>
        <Fact name="Since">{formatDate(account.createdAt)}</Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function most(limit: number | null): string {
  return limit === null ? "no limit" : `at most ${formatCount(limit)}`;
}
