import { classes } from "../../components/classes.ts";
import { formatCount } from "../../components/format.ts";
import styles from "./LiveChart.module.css";
import { TRAFFIC_MS, type TrafficPoint } from "./use-traffic.ts";
import watchTrafficStyles from "./WatchTraffic.module.css";

interface LiveChartProps {
  /** The chart's description for screen readers. */
  readonly label: string;
  readonly old: readonly TrafficPoint[];
  readonly successor: readonly TrafficPoint[];
}

const WIDTH = 1_000;
const HEIGHT = 200;

/** The requests per minute of two keys, up to now. */
export function LiveChart({ label, old, successor }: LiveChartProps) {
  const points = [...old, ...successor];
  const nowMs = Math.max(...points.map(({ atMs }) => atMs));
  const top = roundUp(Math.max(...points.map(({ requests }) => requests)));
  const pathOf = (line: readonly TrafficPoint[]) =>
    line
      .filter(({ atMs }) => atMs >= nowMs - TRAFFIC_MS)
      .map(({ atMs, requests }, index) => {
        const x = WIDTH * (1 - (nowMs - atMs) / TRAFFIC_MS);
        const y = HEIGHT * (1 - requests / top);
        return `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
      })
      .join("");
  return (
    <div className={styles.liveChart} role="img" aria-label={label}>
      <div className={styles.liveChartValues}>
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{formatCount(value)}</span>
        ))}
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path
          className={styles.liveChartGrid}
          d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`}
        />
        <path
          className={classes(styles.liveChartLine, watchTrafficStyles.trafficSuccessor)}
          d={pathOf(successor)}
        />
        <path className={classes(styles.liveChartLine, watchTrafficStyles.trafficOld)} d={pathOf(old)} />
      </svg>
      <div className={styles.liveChartTimes}>
        <span>30 min ago</span>
        <span>15 min ago</span>
        <span>now</span>
      </div>
    </div>
  );
}

/** Rounds up to 2, 4, 6, 8, 10, 20, 40…, whose halves are whole numbers for the label in the middle. */
function roundUp(value: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [2, 4, 6, 8, 10].map((step) => step * size).find((step) => step >= value) ?? 10 * size;
}
