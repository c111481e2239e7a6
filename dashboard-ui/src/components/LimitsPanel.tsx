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
export function LimitsPanel() {
  const now = useQuery(api.account.limits.queryOptions(undefined, { refetchInterval: REFRESH_MS }));
  return (
    <section className={panelStyles.panel} aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <Loaded query={now} what="limits">
        {({ limits, used }) => (
          <div className={styles.limitsNow}>
            <Limit label="Requests per minute" used={used.requests} limit={limits.requestsPerMinute} />
            <Limit label="Tokens per minute" used={used.tokens} limit={limits.tokensPerMinute} />
            <Limit label="Concurrent requests" used={used.concurrent} limit={limits.concurrentRequests} />
            <ActiveKeys />
          </div>
        )}
      </Loaded>
    </section>
  );
}

function ActiveKeys() {
  const keys = useQuery(api.keys.count.queryOptions());
  const account = useQuery(api.account.get.queryOptions());
  const label = "Active keys";
  if (keys.data !== undefined && account.data !== undefined) {
    return <Limit label={label} used={keys.data.active} limit={account.data.keyLimit} isCounted />;
  }
  return <Unmetered label={label} text={keys.isError || account.isError ? "Could not be loaded" : "…"} />;
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
  return <Unmetered label={label} text={isCounted ? `${formatCount(used)}, no limit` : "no limit"} />;
}

function Unmetered({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <p className={meterStyles.meter}>
      <span>{label}</span>
      <span className={meterStyles.meterText}>{text}</span>
    </p>
  );
}
