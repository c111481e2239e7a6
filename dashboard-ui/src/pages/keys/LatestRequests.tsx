import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { Answer } from "../../components/Answer.tsx";
import { formatExactTime } from "../../components/format.ts";

const SHOWN = 6;
const LIVE_MS = 5_000;

interface LatestRequestsProps {
  readonly keyId: string;
  readonly title: string;
  /** Where there is none. */
  readonly none: string;
  /** Only those that were refused with this code. */
  readonly errorCode?: "revoked_api_key";
}

/** The latest requests with a key: who still has to be updated. */
export function LatestRequests({ keyId, title, none, errorCode }: LatestRequestsProps) {
  const filter = { key: keyId, error_code: errorCode };
  const log = useQuery(
    api.audit.list.queryOptions({ ...filter, limit: SHOWN }, { refetchInterval: LIVE_MS }),
  );
  return (
    <div className="rotation-latest">
      <div className="panel-head">
        <h3>{title}</h3>
        <Link to="/audit" search={filter}>
          View in request log
        </Link>
      </div>
      <Answer query={log} what="requests">
        {({ entries }) =>
          entries.length === 0 ? (
            <p className="quiet">{none}</p>
          ) : (
            <div className="table-frame">
              <table className="table">
                <caption className="visually-hidden">{title}</caption>
                <thead>
                  <tr>
                    <th scope="col">Time</th>
                    <th scope="col">Source IP</th>
                    <th scope="col">Model</th>
                    <th scope="col">Endpoint</th>
                    <th scope="col" className="number">
                      Status
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {entries.map(({ id, timestamp, sourceIp, model, endpoint, status }) => (
                    <tr key={id}>
                      <th scope="row" className="time">
                        <time dateTime={timestamp.toISOString()}>{formatExactTime(timestamp)}</time>
                      </th>
                      <td data-label="Source IP">
                        <code>{sourceIp ?? "unknown"}</code>
                      </td>
                      <td data-label="Model">
                        <span className="cut" title={model ?? undefined}>
                          {model ?? <span className="quiet">none</span>}
                        </span>
                      </td>
                      <td data-label="Endpoint">{endpoint}</td>
                      <td data-label="Status" className="number">
                        {status}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Answer>
    </div>
  );
}
