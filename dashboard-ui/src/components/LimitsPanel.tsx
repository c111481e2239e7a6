import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { formatCount } from "./format.ts";
import styles from "./LimitsPanel.module.css";
import { Loaded } from "./Loaded.tsx";
import meterStyles from "./Meter.module.css";
import { Meter } from "./Meter.tsx";
import panelStyles from "./Panel.module.css";

const REFRESH_MS = 5_000;

/** The account's limits and their current use. */
export function LimitsPanel({ active }: { readonly active: number | undefined }) {
  const now = useQuery(api.account.limits.queryOptions(undefined, { refetchInterval: REFRESH_MS }));
  const account = useQuery(api.account.get.queryOptions());
  return (
    <section className={panelStyles.panel} aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <Loaded query={now} what="limits">
        {({ limits, used }) => (
          <div className={styles.limitsNow}>
            <Limit label="Requests per minute" used={used.requests} limit={limits.requestsPerMinute} />
            <Limit label="Tokens per minute" used={used.tokens} limit={limits.tokensPerMinute} />
            <Limit label="Concurrent requests" used={used.concurrent} limit={limits.concurrentRequests} />
            {active === undefined || account.data === undefined ? null : (
              <Limit label="Active keys" used={active} limit={account.data.keyLimit} isCounted />
            )}
          </div>
        )}
      </Loaded>
    </section>
  );
}

interface LimitProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number | null;
  /** Whether the use is known even without a limit. */
  readonly isCounted?: boolean;
}

function Limit({ label, used, limit, isCounted = false }: LimitProps) {
  if (limit !== null) {
    return (
      <Meter label={label} value={used} max={limit} text={`${formatCount(used)} of ${formatCount(limit)}`} />
    );
  }
  return (
    <p className={meterStyles.meter}>
      <span>{label}</span>
      <span className={meterStyles.meterText}>
        {isCounted ? `${formatCount(used)}, no limit` : "no limit"}
      </span>
    </p>
  );
}
