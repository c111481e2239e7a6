import { memo } from "react";
import type { AuditEntry } from "../../api/types.ts";
import {
  formatCount,
  formatDate,
  formatDuration,
  formatTimeOfDay,
  formatUsd,
} from "../../components/format.ts";
import { wentWell } from "./entry-labels.ts";

interface EntryRowProps {
  readonly entry: AuditEntry;
  readonly index: number;
  /** Where it is when that is not below the row before it. */
  readonly topPx: number | null;
  /** The one that the keyboard is at. */
  readonly isCurrent: boolean;
  readonly isOpen: boolean;
  /** It has just been recorded. */
  readonly isFresh: boolean;
}

/** A row of the table. What is done with it the table listens to: there are many rows, and they come and go as one scrolls. */
export const EntryRow = memo(function EntryRow({
  entry,
  index,
  topPx,
  isCurrent,
  isOpen,
  isFresh,
}: EntryRowProps) {
  const { timestamp, keyName, keyId, model, endpoint, status, errorCode, tokenCount, sourceIp } = entry;
  const isWell = wentWell(entry);
  return (
    <tr
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      className={`entry${isWell ? "" : " entry-failed"}${isFresh ? " entry-fresh" : ""}`}
      data-index={index}
      tabIndex={isCurrent ? 0 : -1}
      style={topPx === null ? undefined : { position: "absolute", top: topPx }}
    >
      <td className="entry-time">
        <time dateTime={timestamp.toISOString()}>
          {formatTimeOfDay(timestamp)} <span className="small">{formatDate(timestamp)}</span>
        </time>
      </td>
      <td className="entry-key" title={keyName}>
        <span className="entry-key-name">{keyName}</span> <code className="small">…{keyId}</code>
      </td>
      <td className="entry-model" title={model ?? undefined}>
        {model ?? "no model"} <span className="small">{endpoint}</span>
      </td>
      <td className={`entry-status${errorCode === null ? " entry-alone" : ""}`}>
        <span className={`badge badge-${isWell ? "active" : "failed"}`}>{status}</span>
      </td>
      <td className="entry-code small" title={errorCode ?? undefined}>
        {errorCode === null ? null : <code>{errorCode}</code>}
      </td>
      <td className="entry-tokens number">
        {tokenCount === null ? "–" : formatCount(tokenCount)}{" "}
        {entry.usageSource === "estimated" ? <span className="small">estimated</span> : null}
      </td>
      <td className="entry-cost number">{formatUsd(entry.costNanoUsd)}</td>
      <td className="entry-latency number">{formatDuration(entry.latencyMs)}</td>
      <td className="entry-source" title={sourceIp ?? undefined}>
        <code>{sourceIp ?? "unknown"}</code>
      </td>
      <td className="entry-open">
        <button type="button" tabIndex={-1} aria-label={`Details of ${entry.requestId}`}>
          <span aria-hidden="true">›</span>
        </button>
      </td>
    </tr>
  );
});
