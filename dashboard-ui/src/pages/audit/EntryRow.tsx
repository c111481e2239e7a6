import { memo } from "react";
import type { AuditEntry } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import { classes } from "../../components/classes.ts";
import dataTableStyles from "../../components/DataTable.module.css";
import {
  formatCount,
  formatDate,
  formatDuration,
  formatTimeOfDay,
  formatUsd,
} from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
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
}

/** A row of the table. The table handles its events, because rows are many and change while scrolling. */
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
      <td className={entryTableStyles.entryKey} title={keyName}>
        <span className={entryTableStyles.entryKeyName}>{keyName}</span>{" "}
        <code className={textStyles.small}>…{keyId}</code>
      </td>
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
      <td className={classes(entryTableStyles.entryTokens, dataTableStyles.number)}>
        {tokenCount === null ? "–" : formatCount(tokenCount)}{" "}
        {entry.usageSource === "estimated" ? <span className={textStyles.small}>estimated</span> : null}
      </td>
      <td className={classes(entryTableStyles.entryCost, dataTableStyles.number)}>
        {formatUsd(entry.costNanoUsd)}
      </td>
      <td className={classes(entryTableStyles.entryLatency, dataTableStyles.number)}>
        {formatDuration(entry.latencyMs)}
      </td>
      <td className={entryTableStyles.entrySource} title={sourceIp ?? undefined}>
        <code>{sourceIp ?? "unknown"}</code>
      </td>
      <td className={entryTableStyles.entryOpen}>
        <button type="button" tabIndex={-1} aria-label={`Details of ${entry.requestId}`}>
          <span aria-hidden="true">›</span>
        </button>
      </td>
    </tr>
  );
});
