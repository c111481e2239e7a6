import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { formatCount, formatDuration, formatExactTime, formatUsd } from "../../api/format.ts";
import type { AuditEntry } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Empty, LoadError, Loading } from "../../components/Notice.tsx";
import { Title } from "../../components/Title.tsx";

const PAGE = 50;

/** The record of every request made with the account's keys. */
export function Audit() {
  const [opened, setOpened] = useState<AuditEntry | null>(null);
  const log = useInfiniteQuery(
    api.audit.list.infiniteQueryOptions(
      { limit: PAGE },
      {
        getNextPageParam: (page) => page.nextCursor ?? undefined,
        // Whoever comes to this page wants to see what has just happened.
        staleTime: 0,
      },
    ),
  );
  const entries = log.data?.pages.flatMap((page) => page.entries) ?? [];

  return (
    <>
      <div className="page-head">
        <div>
          <Title>Audit log</Title>
          <p className="lead">Every request made with a key of the account, refused ones included.</p>
        </div>
        <Button busy={log.isRefetching && !log.isFetchingNextPage} onClick={() => log.refetch()}>
          Refresh
        </Button>
      </div>
      {log.isPending ? <Loading what="entries" /> : null}
      {log.isError && !log.isFetchNextPageError ? (
        <LoadError error={log.error} busy={log.isFetching} retry={() => log.refetch()} />
      ) : null}
      {log.isSuccess && entries.length === 0 ? (
        <Empty title="No requests yet">
          <p>As soon as one of the account's keys is used, the request stands here.</p>
        </Empty>
      ) : null}
      {entries.length > 0 ? (
        <div className="table-frame">
          <table className="table">
            <caption className="visually-hidden">Audit entries, newest first</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Key</th>
                <th scope="col">Model, endpoint</th>
                <th scope="col">Status</th>
                <th scope="col" className="number">
                  Tokens
                </th>
                <th scope="col" className="number">
                  Cost
                </th>
                <th scope="col" className="number">
                  Latency
                </th>
                <th scope="col">Source IP</th>
                <th scope="col">
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <Row key={entry.id} entry={entry} open={() => setOpened(entry)} />
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
      {log.isFetchNextPageError ? (
        <LoadError error={log.error} busy={log.isFetchingNextPage} retry={() => log.fetchNextPage()} />
      ) : log.hasNextPage ? (
        <div className="more">
          <Button busy={log.isFetchingNextPage} onClick={() => log.fetchNextPage()}>
            Load more
          </Button>
        </div>
      ) : null}
      {opened === null ? null : <Details entry={opened} onClose={() => setOpened(null)} />}
    </>
  );
}

function Row({ entry, open }: { readonly entry: AuditEntry; readonly open: () => void }) {
  return (
    <tr>
      <th scope="row" className="time">
        <time dateTime={entry.timestamp.toISOString()}>{formatExactTime(entry.timestamp)}</time>
      </th>
      <td data-label="Key">
        <span className="pair">
          <span className="cut" title={entry.keyName}>
            {entry.keyName}
          </span>
          <code>…{entry.keyId}</code>
        </span>
      </td>
      <td data-label="Model, endpoint">
        <span className="pair">
          <span className="cut" title={entry.model ?? undefined}>
            {entry.model ?? "no model"}
          </span>
          <span className="small">{entry.endpoint}</span>
        </span>
      </td>
      <td data-label="Status">
        <Status entry={entry} />
      </td>
      <td data-label="Tokens" className="number">
        <Tokens entry={entry} />
      </td>
      <td data-label="Cost" className="number">
        {formatUsd(entry.costNanoUsd)}
      </td>
      <td data-label="Latency" className="number">
        {formatDuration(entry.latencyMs)}
      </td>
      <td data-label="Source IP">
        <code>{entry.sourceIp ?? "unknown"}</code>
      </td>
      <td className="actions">
        <Button aria-label={`Details of ${entry.requestId}`} onClick={open}>
          Details
        </Button>
      </td>
    </tr>
  );
}

function Status({ entry }: { readonly entry: AuditEntry }) {
  const good = entry.status < 400 && entry.errorCode === null;
  return (
    <span className="pair">
      <span className={`badge badge-${good ? "active" : "failed"}`}>{entry.status}</span>
      {entry.errorCode === null ? null : <code className="small">{entry.errorCode}</code>}
    </span>
  );
}

function Tokens({ entry }: { readonly entry: AuditEntry }) {
  if (entry.tokenCount === null) return "–";
  return (
    <span className="pair">
      {formatCount(entry.tokenCount)}
      {entry.usageSource === "estimated" ? <span className="small">estimated</span> : null}
    </span>
  );
}

function Details({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }) {
  const tokens = (value: number | null) => (value === null ? "unknown" : formatCount(value));
  const facts: readonly (readonly [string, string])[] = [
    ["Request id", entry.requestId],
    ["Time", entry.timestamp.toISOString()],
    ["Key", `${entry.keyName} (…${entry.keyId})`],
    ["Endpoint", entry.endpoint],
    ["Model", entry.model ?? "none"],
    ["Upstream", entry.upstream ?? "none"],
    ["Status", entry.errorCode === null ? String(entry.status) : `${entry.status} ${entry.errorCode}`],
    ["Ended by", entry.endReason],
    ["Prompt tokens", tokens(entry.promptTokens)],
    ["of them cached", tokens(entry.cachedTokens)],
    ["Completion tokens", tokens(entry.completionTokens)],
    ["Counted by", entry.usageSource],
    ["Cost", formatUsd(entry.costNanoUsd)],
    ["Latency", formatDuration(entry.latencyMs)],
    ["First token", entry.timeToFirstTokenMs === null ? "none" : formatDuration(entry.timeToFirstTokenMs)],
    ["Source IP", entry.sourceIp ?? "unknown"],
  ];
  return (
    <Dialog title="Audit entry" onDismiss={onClose}>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-actions">
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
