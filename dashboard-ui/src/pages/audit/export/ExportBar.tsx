import { Progress } from "@base-ui/react/progress";
import { formatBytes, formatCounted, formatDateTime } from "../../../components/format.ts";
import meterStyles from "../../../components/Meter.module.css";
import type { AuditFilters } from "../filters.ts";
import exportDialogStyles from "./ExportDialog.module.css";
import type { ExportProgress } from "./export-run.ts";

interface ExportBarProps {
  readonly filters: AuditFilters;
  readonly startedAt: Date;
  readonly progress: ExportProgress | null;
  readonly isDone: boolean;
}

/** The progress of an export by time, because the number of entries is unknown. */
export function ExportBar({ filters, startedAt, progress, isDone }: ExportBarProps) {
  const share = isDone ? 1 : shareOf(filters, startedAt, progress);
  const words = [
    formatCounted(progress?.entries ?? 0, "entry", "entries"),
    formatBytes(progress?.bytes ?? 0),
    ...(progress?.last == null || isDone ? [] : [`up to ${formatDateTime(progress.last)}`]),
  ].join(", ");
  return (
    <Progress.Root
      className={exportDialogStyles.progress}
      aria-label="Export"
      value={share === null ? null : Math.round(share * 100)}
      getAriaValueText={() => words}
    >
      <Progress.Track className={meterStyles.meterTrack}>
        <Progress.Indicator className={meterStyles.meterIndicator} />
      </Progress.Track>
      <span className={meterStyles.meterText}>
        {words}
        {progress?.isCut === true ? ". Connection lost. Resuming…" : ""}
      </span>
    </Progress.Root>
  );
}

/** The covered share of the requested period; `null` while it is unknown. */
function shareOf(filters: AuditFilters, startedAt: Date, progress: ExportProgress | null): number | null {
  const { first, last } = progress ?? {};
  if (first == null || last == null) return null;
  const from = filters.from === undefined ? first.getTime() : Date.parse(filters.from);
  const to = Math.min(
    filters.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(filters.to),
    startedAt.getTime(),
  );
  return Math.min(1, Math.max(0, (last.getTime() - from) / Math.max(1, to - from)));
}
