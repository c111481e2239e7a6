import type { CatalogModel, CatalogUpstream } from "../../../api/types.ts";
import { formatCount, formatDuration, formatSpan } from "../../../components/format.ts";
import { Dialect } from "../Dialect.tsx";

interface CatalogUpstreamsProps {
  /** Those that the search found. */
  readonly upstreams: readonly CatalogUpstream[];
  /** How many there are. */
  readonly of: number;
  /** All of them, to tell how many an upstream serves. */
  readonly models: readonly CatalogModel[];
}

/** Upstreams with what they are given to answer in. */
export function CatalogUpstreams({ upstreams, of, models }: CatalogUpstreamsProps) {
  return (
    <section className="console-part" aria-labelledby="upstreams">
      <div className="panel-head">
        <h2 id="upstreams">Upstreams</h2>
        <p className="quiet" role="status">
          {upstreams.length === of
            ? formatCount(of)
            : `${formatCount(upstreams.length)} of ${formatCount(of)}`}
        </p>
      </div>
      <div className="table-frame">
        {upstreams.length === 0 ? (
          <p className="nothing">{of === 0 ? "The catalog has no upstreams." : "No upstream matches."}</p>
        ) : (
          <table className="table catalog-table">
            <caption className="visually-hidden">Upstreams with their settings</caption>
            <thead>
              <tr>
                <th scope="col">Upstream</th>
                <th scope="col">Credential</th>
                <th scope="col" className="number">
                  Models
                </th>
                <th scope="col" className="number">
                  Concurrent requests
                </th>
                <th scope="col">Timeouts</th>
                <th scope="col">Breaker opens</th>
              </tr>
            </thead>
            <tbody>
              {upstreams.map((upstream) => (
                <Row
                  key={upstream.name}
                  upstream={upstream}
                  models={models.filter(({ routes }) =>
                    routes.some((route) => route.upstream === upstream.name),
                  )}
                />
              ))}
            </tbody>
          </table>
        )}
      </div>
    </section>
  );
}

interface RowProps {
  readonly upstream: CatalogUpstream;
  /** That it serves. */
  readonly models: readonly CatalogModel[];
}

function Row({ upstream, models }: RowProps) {
  const { timeouts, breaker } = upstream;
  return (
    <tr>
      <th scope="row" className="name">
        <span className="pair">
          {upstream.name}
          <span className="small">
            <Dialect upstream={upstream} />
          </span>
        </span>
      </th>
      <td data-label="Credential">{upstream.hasCredential ? "set" : <span className="quiet">none</span>}</td>
      <td data-label="Models" className="number">
        {formatCount(models.length)}
      </td>
      <td data-label="Concurrent requests" className="number">
        {formatCount(upstream.maxConcurrency)}
      </td>
      <td data-label="Timeouts">
        <span className="pair">
          <span>First byte: {timeOf(timeouts.firstByteMs)}</span>
          <span className="small">
            Connect: {timeOf(timeouts.connectMs)}, idle: {timeOf(timeouts.idleMs)}
          </span>
        </span>
      </td>
      <td data-label="Breaker opens">
        <span className="pair">
          <span>after {formatCount(breaker.failures)} failures</span>
          <span className="small">for {timeOf(breaker.openMs)} initially</span>
        </span>
      </td>
    </tr>
  );
}

/** Settings are round numbers mostly: "2 minutes" reads better than "120.0 s". */
function timeOf(milliseconds: number): string {
  return milliseconds > 0 && milliseconds % 1_000 === 0
    ? formatSpan(milliseconds / 1_000)
    : formatDuration(milliseconds);
}
