import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { SecurityEvent } from "../../../api/types.ts";
import { formatCount, formatExactTime } from "../../../components/format.ts";
import { SECURITY_LABELS } from "./security-labels.ts";

interface SecurityTableProps {
  readonly events: readonly SecurityEvent[];
  /** While others are asked for. */
  readonly busy: boolean;
}

/** Events that have everything in common are one row. */
export function SecurityTable({ events, busy }: SecurityTableProps) {
  return (
    <div className="table-frame" aria-busy={busy}>
      <table className="table security-table">
        <caption className="visually-hidden">Security events, last seen first</caption>
        <thead>
          <tr>
            <th scope="col">Last seen</th>
            <th scope="col">Event</th>
            <th scope="col">Account</th>
            <th scope="col">Source IP</th>
            <th scope="col" className="number">
              Times
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <Row key={event.id} event={event} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ event }: { readonly event: SecurityEvent }) {
  const { title, more } = SECURITY_LABELS[event.kind];
  return (
    <tr>
      <th scope="row" className="time">
        <span className="pair">
          <time dateTime={event.lastAt.toISOString()}>{formatExactTime(event.lastAt)}</time>
          {formatExactTime(event.firstAt) === formatExactTime(event.lastAt) ? null : (
            <span className="small">
              first <time dateTime={event.firstAt.toISOString()}>{formatExactTime(event.firstAt)}</time>
            </span>
          )}
        </span>
      </th>
      <td data-label="Event" className="event">
        <span className="pair">
          <span className="event-title">{title}</span>
          <span className="small">{more}</span>
        </span>
      </td>
      <td data-label="Account" className="whose">
        <span className="pair">
          <AccountOf event={event} />
          <About event={event} />
        </span>
      </td>
      <td data-label="Source IP">
        <Source event={event} />
      </td>
      <td data-label="Times" className="number">
        {formatCount(event.count)}
      </td>
    </tr>
  );
}

function AccountOf({ event: { account } }: { readonly event: SecurityEvent }): ReactNode {
  if (account === null) return null;
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId: account.id }}>
      {account.name}
    </Link>
  );
}

/** The key, the user or the upstream. */
function About({
  event: { account, keyId, userEmail, upstream },
}: {
  readonly event: SecurityEvent;
}): ReactNode {
  if (keyId !== null) {
    return (
      <span className="small">
        key <code>…{keyId}</code>
      </span>
    );
  }
  const name = userEmail ?? upstream;
  if (name !== null) return <span className={account === null ? undefined : "small"}>{name}</span>;
  return account === null ? <span className="quiet">unknown</span> : null;
}

function Source({ event: { sourceIp, upstream } }: { readonly event: SecurityEvent }): ReactNode {
  if (sourceIp === null) return <span className="quiet">{upstream === null ? "unknown" : "–"}</span>;
  return (
    <Link
      to="/operator/security"
      search={(before) => ({ ...before, source: sourceIp })}
      aria-label={`Only events from ${sourceIp}`}
    >
      <code>{sourceIp}</code>
    </Link>
  );
}
