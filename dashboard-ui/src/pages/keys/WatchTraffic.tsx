import type { KeyUse } from "../../api/types.ts";
import { classes } from "../../components/classes.ts";
import { formatCount, formatDateTime, formatSpan } from "../../components/format.ts";
import { Meter } from "../../components/Meter.tsx";
import textStyles from "../../components/text.module.css";
import { HourlyTraffic } from "./HourlyTraffic.tsx";
import { LatestRequests } from "./LatestRequests.tsx";
import liveChartStyles from "./LiveChart.module.css";
import { LiveChart } from "./LiveChart.tsx";
import { useTraffic } from "./use-traffic.ts";
import styles from "./WatchTraffic.module.css";

interface WatchTrafficProps {
  readonly old: KeyUse;
  readonly successor: KeyUse;
  readonly rotation: NonNullable<KeyUse["rotation"]>;
}

/** The traffic of the old key, which should fall to zero, beside that of its successor. */
export function WatchTraffic({ old, successor, rotation }: WatchTrafficProps) {
  const oldTraffic = useTraffic(old.id);
  const successorTraffic = useTraffic(successor.id);
  return (
    <>
      <Idle rotation={rotation} />
      <div className={styles.trafficKeys}>
        <KeyFigures apiKey={old} title="Old key" line={styles.trafficOld} />
        <KeyFigures apiKey={successor} title="New key" line={styles.trafficSuccessor} />
      </div>
      <div className={styles.trafficCharts}>
        <figure>
          <figcaption>Requests per minute, last 30 minutes</figcaption>
          {oldTraffic.length === 0 || successorTraffic.length === 0 ? null : (
            <LiveChart
              label={`Requests per minute over the last 30 minutes. In the last minute: ${old.requestsLastMinute} with “${old.name}”, ${successor.requestsLastMinute} with “${successor.name}”.`}
              old={oldTraffic}
              successor={successorTraffic}
            />
          )}
        </figure>
        <figure>
          <figcaption>Requests per hour, last 24 hours</figcaption>
          <HourlyTraffic old={old} successor={successor} />
        </figure>
      </div>
      <LatestRequests keyId={old.id} title="Latest requests with the old key" none="No requests yet." />
    </>
  );
}

const MINUTE_S = 60;

/** The time since the last use of the old key, out of the time after which it counts as idle. */
function Idle({ rotation: { idleSince, idleAfterSeconds } }: Pick<WatchTrafficProps, "rotation">) {
  const idleS = Math.max(0, Math.floor((Date.now() - idleSince.getTime()) / 1_000));
  return (
    <Meter
      label={`Unused for ${idleS < MINUTE_S ? "less than a minute" : roughSpan(idleS)}`}
      value={Math.min(idleS, idleAfterSeconds)}
      max={idleAfterSeconds}
      text={`of ${formatSpan(idleAfterSeconds)}`}
      isGoal
    />
  );
}

/** A duration in whole minutes, hours or days. */
function roughSpan(seconds: number): string {
  const unit = [24 * 60 * MINUTE_S, 60 * MINUTE_S].find((size) => seconds >= 2 * size) ?? MINUTE_S;
  return formatSpan(seconds - (seconds % unit));
}

interface KeyFiguresProps {
  readonly apiKey: KeyUse;
  readonly title: string;
  /** The style of the key's line in the chart. */
  readonly line: string | undefined;
}

function KeyFigures({ apiKey, title, line }: KeyFiguresProps) {
  return (
    <div className={styles.trafficKey}>
      <h3>
        <svg className={styles.trafficSwatch} viewBox="0 0 24 4" aria-hidden="true">
          <path className={classes(liveChartStyles.liveChartLine, line)} d="M0 2H24" />
        </svg>
        {title}: {apiKey.name} <code className={textStyles.small}>…{apiKey.keyId}</code>
      </h3>
      <dl className={styles.counts}>
        <Count name="last minute" value={apiKey.requestsLastMinute} />
        <Count name="last hour" value={apiKey.requestsLastHour} />
        <Count name="24 hours" value={apiKey.requestsLastDay} />
      </dl>
      <p className={textStyles.small}>
        {apiKey.lastUsedAt === null
          ? "Never used."
          : `Last request ${formatDateTime(apiKey.lastUsedAt)} from ${apiKey.lastUsedIp ?? "an unknown address"}${
              apiKey.addresses > 1 ? `, one of ${formatCount(apiKey.addresses)} addresses` : ""
            }.`}
      </p>
    </div>
  );
}

function Count({ name, value }: { readonly name: string; readonly value: number }) {
  return (
    <div className={value === 0 ? textStyles.quiet : undefined}>
      <dt>{name}</dt>
      <dd>{formatCount(value)}</dd>
    </div>
  );
}
