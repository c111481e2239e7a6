import type { CatalogUpstream, UpstreamHealth } from "../../../api/types.ts";
import { formatCount, formatExactTime } from "../../../components/format.ts";
import { Dialect } from "../Dialect.tsx";

interface UpstreamTableProps {
  readonly upstreams: readonly UpstreamHealth[];
  /** By name, as the catalog has them. */
  readonly described: ReadonlyMap<string, CatalogUpstream>;
}

const BREAKERS: Readonly<
  Record<UpstreamHealth["breaker"], { readonly badge: string; readonly label: string; readonly note: string }>
> = {
  closed: { badge: "badge-active", label: "Healthy", note: "accepts requests" },
  open: { badge: "badge-failed", label: "Down", note: "paused after failures" },
  "half-open": { badge: "badge-warning", label: "Recovering", note: "testing" },
};

/** Upstreams, each with its breaker. */
export function UpstreamTable({ upstreams, described }: UpstreamTableProps) {
  return (
    <div className="table-frame">
      <table className="table upstream-table">
        <caption className="visually-hidden">Health of upstreams on this node</caption>
        <thead>
          <tr>
            <th scope="col">Upstream</th>
            <th scope="col">Health</th>
            <th scope="col" className="number">
              In flight
            </th>
            <th scope="col" className="number">
              Waiting
            </th>
            <th scope="col" className="number">
              Answered
            </th>
            <th scope="col" className="number">
              Failed
            </th>
            <th scope="col">Last failure</th>
          </tr>
        </thead>
        <tbody>
          {upstreams.map((upstream) => (
            <Row key={upstream.name} health={upstream} upstream={described.get(upstream.name)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly health: UpstreamHealth;
  readonly upstream: CatalogUpstream | undefined;
}

function Row({ health, upstream }: RowProps) {
  const { badge, label, note } = BREAKERS[health.breaker];
  return (
    <tr>
      <th scope="row" className="name">
        <span className="pair">
          {health.name}
          {upstream === undefined ? null : (
            <span className="small">
              <Dialect upstream={upstream} />
            </span>
          )}
        </span>
      </th>
      <td data-label="Health">
        <span className="pair">
          <span className={`badge ${badge}`}>{label}</span>
          <span className="small">{note}</span>
        </span>
      </td>
      <td data-label="In flight" className="number">
        <span className="pair">
          {formatCount(health.inFlight)}
          {upstream === undefined ? null : (
            <span className="small">of {formatCount(upstream.maxConcurrency)}</span>
          )}
        </span>
      </td>
      <td data-label="Waiting" className="number">
        {formatCount(health.waiting)}
      </td>
      <td data-label="Answered" className="number">
        {formatCount(health.successes)}
      </td>
      <td data-label="Failed" className="number">
        {formatCount(health.failures)}
      </td>
      <td data-label="Last failure" className="last-failure">
        {health.lastFailure === null ? (
          <span className="quiet">none</span>
        ) : (
          <span className="pair">
            <span>{health.lastFailure.reason === "" ? "unknown" : health.lastFailure.reason}</span>
            <time className="small" dateTime={health.lastFailure.at.toISOString()}>
              {formatExactTime(health.lastFailure.at)}
            </time>
          </span>
        )}
      </td>
    </tr>
  );
}
