import { memo, type ReactNode } from "react";
import type { AuditEntry } from "../../api/types.ts";
import { AlignedUsd } from "../../components/AlignedUsd.tsx";
import { Badge } from "../../components/Badge.tsx";
import { classes } from "../../components/classes.ts";
import dataTableStyles from "../../components/DataTable.module.css";
import { formatCount, formatDate, formatDuration, formatTimeOfDay } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { afterStatus, type Column } from "./columns.ts";
import entryTableStyles from "./EntryTable.module.css";
import { wentWell } from "./entry-labels.ts";

interface EntryRowProps {
  readonly entry: AuditEntry;
  readonly index: number;
  /** The row's position if it does not follow the row before it. */
  readonly topPx: number | null;
  /** Whether the keyboard's position is at this row. */
  readonly isCurrent: boolean;
  readonly isOpen: boolean;
  /** Whether the entry has just been recorded. */
  readonly isFresh: boolean;
  /** The number of fraction digits of the costs. */
  readonly fraction: number;
  /** The same object while the columns are the same. */
  readonly columns: readonly Column[];
}

/** A row of the table. The table handles its events, because rows are many and change while scrolling. */
export const EntryRow = memo(function EntryRow({
  entry,
  index,
  topPx,
  isCurrent,
  isOpen,
  isFresh,
  fraction,
  columns,
}: EntryRowProps) {
  const { timestamp, account, keyName, keyId, model, endpoint, status, errorCode } = entry;
  const isWell = wentWell(entry);
  return (
    <tr
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      className={classes(
        entryTableStyles.entry,
        !isWell && entryTableStyles.entryFailed,
        isFresh && entryTableStyles.entryFresh,
      )}
      data-index={index}
      tabIndex={isCurrent ? 0 : -1}
      style={topPx === null ? undefined : { position: "absolute", top: topPx }}
    >
      <td className={entryTableStyles.entryTime}>
        <time dateTime={timestamp.toISOString()}>
          {formatTimeOfDay(timestamp)} <span className={textStyles.small}>{formatDate(timestamp)}</span>
        </time>
      </td>
      {columns.includes("account") ? (
        <td className={entryTableStyles.entryAccount} title={account?.name} dir="auto">
          {account?.name ?? "–"}
        </td>
      ) : null}
      {columns.includes("key") ? (
        <td className={entryTableStyles.entryKey} title={keyName}>
          <span className={entryTableStyles.entryKeyName} dir="auto">
            {keyName}
          </span>{" "}
          <code className={textStyles.small}>…{keyId}</code>
        </td>
      ) : null}
      <td className={entryTableStyles.entryModel} title={model ?? undefined}>
        {model ?? "no model"} <span className={textStyles.small}>{endpoint}</span>
      </td>
      <td
        className={classes(entryTableStyles.entryStatus, errorCode === null && entryTableStyles.entryAlone)}
      >
        <Badge tone={isWell ? "good" : "bad"}>{status}</Badge>
      </td>
      <td className={classes(entryTableStyles.entryCode, textStyles.small)} title={errorCode ?? undefined}>
        {errorCode === null ? null : <code>{errorCode}</code>}
      </td>
      {afterStatus(columns).map((column) => CELLS[column](entry, fraction))}
      <td className={entryTableStyles.entryOpen}>
        <button type="button" tabIndex={-1} aria-label={`Details of ${entry.requestId}`}>
          <span aria-hidden="true">›</span>
        </button>
      </td>
    </tr>
  );
});

/** The cells after the status. */
const CELLS: Readonly<
  Record<ReturnType<typeof afterStatus>[number], (entry: AuditEntry, fraction: number) => ReactNode>
> = {
  upstream: ({ upstream }) => (
    <td key="upstream" className={entryTableStyles.entryUpstream} title={upstream ?? undefined}>
      {upstream ?? "–"}
    </td>
  ),
  tokens: ({ tokenCount, usageSource }) => (
    <td key="tokens" className={classes(entryTableStyles.entryTokens, dataTableStyles.number)}>
      {tokenCount === null ? "–" : formatCount(tokenCount)}{" "}
      {usageSource === "estimated" ? <span className={textStyles.small}>estimated</span> : null}
    </td>
  ),
  cost: ({ costNanoUsd }, fraction) => (
    <td key="cost" className={classes(entryTableStyles.entryCost, dataTableStyles.number)}>
      <AlignedUsd nanoUsd={costNanoUsd} fraction={fraction} />
    </td>
  ),
  latency: ({ latencyMs }) => (
    <td key="latency" className={classes(entryTableStyles.entryLatency, dataTableStyles.number)}>
      {formatDuration(latencyMs)}
    </td>
  ),
  firstToken: ({ timeToFirstTokenMs }) => (
    <td key="firstToken" className={classes(entryTableStyles.entryFirstToken, dataTableStyles.number)}>
      {timeToFirstTokenMs === null ? "–" : formatDuration(timeToFirstTokenMs)}
    </td>
  ),
  source: ({ sourceIp }) => (
    <td key="source" className={entryTableStyles.entrySource} title={sourceIp ?? undefined}>
      <code>{sourceIp ?? "unknown"}</code>
    </td>
  ),
};
