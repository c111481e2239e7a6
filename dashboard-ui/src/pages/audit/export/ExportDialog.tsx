import { useState } from "react";
import { APIError } from "../../../../../sdk/src/session.ts";
import type { LogSummary } from "../../../api/types.ts";
import { Badge } from "../../../components/Badge.tsx";
import { Button } from "../../../components/Button.tsx";
import dialogStyles from "../../../components/Dialog.module.css";
import { Dialog } from "../../../components/Dialog.tsx";
import formStyles from "../../../components/form.module.css";
import { formatCount, formatCounted } from "../../../components/format.ts";
import listsStyles from "../../../components/lists.module.css";
import { Notice } from "../../../components/Notice.tsx";
import { Segmented } from "../../../components/Segmented.tsx";
import textStyles from "../../../components/text.module.css";
import { type AuditFilters, filterParts, type NamedKey } from "../filters.ts";
import { useSummary } from "../use-summary.ts";
import { ExportBar } from "./ExportBar.tsx";
import styles from "./ExportDialog.module.css";
import { type ExportFormat, type ExportRun, UnwrittenError } from "./export-run.ts";
import { Schedule } from "./Schedule.tsx";
import { type ExportState, useExport } from "./use-export.ts";

interface ExportDialogProps {
  readonly filters: AuditFilters;
  /** The key that the filters name, once it is known. */
  readonly chosenKey: NamedKey | undefined;
  readonly clearFilters: () => void;
  readonly onClose: () => void;
}

const FORMATS: readonly { readonly value: ExportFormat; readonly label: string }[] = [
  { value: "csv", label: "CSV" },
  { value: "ndjson", label: "NDJSON" },
];
const WHEN: readonly { readonly value: "now" | "scheduled"; readonly label: string }[] = [
  { value: "now", label: "Now" },
  { value: "scheduled", label: "Schedule" },
];

/** Saves all matching entries as a file. */
export function ExportDialog({ filters, chosenKey, clearFilters, onClose }: ExportDialogProps) {
  const [isScheduled, setScheduled] = useState(false);
  const [format, setFormat] = useState<ExportFormat>("csv");
  const { state, progress, startedAt, start, resume, giveUp } = useExport(format, filters);
  const summary = useSummary(filters, false);
  const counted = summary.isPlaceholderData ? undefined : summary.data;
  const isEmpty = counted?.total.requests === 0 && counted.countedFrom === null;

  return (
    <Dialog
      title="Export request log"
      onDismiss={state.kind === "choosing" || state.kind === "done" ? onClose : undefined}
    >
      <Extent filters={filters} chosenKey={chosenKey} />
      {state.kind === "choosing" && !isScheduled ? (
        <Count summary={counted} clearFilters={clearFilters} />
      ) : null}
      {state.kind === "choosing" ? (
        <>
          <Segmented
            label="When"
            value={isScheduled ? "scheduled" : "now"}
            options={WHEN}
            onChange={(value) => setScheduled(value === "scheduled")}
          />
          <div className={styles.exportFormat}>
            <Segmented label="Format" value={format} options={FORMATS} onChange={setFormat} />
            <p className={formStyles.hint}>
              {format === "csv"
                ? "Table for spreadsheets, with a header row."
                : "One JSON object per line, with the data needed to verify the log."}
            </p>
          </div>
          {isScheduled ? <Schedule filters={filters} format={format} /> : null}
          {state.error === null ? null : <Notice tone="error">{state.error}</Notice>}
        </>
      ) : (
        <ExportBar
          filters={filters}
          startedAt={startedAt}
          progress={progress}
          isDone={state.kind === "done"}
        />
      )}
      {state.kind === "failed" ? <Notice tone="error">{failureText(state.error)}</Notice> : null}
      <p role="status" className={state.kind === "done" ? undefined : textStyles.visuallyHidden}>
        {state.kind === "done"
          ? `${formatCount(progress?.entries ?? 0)} ${progress?.entries === 1 ? "entry is" : "entries are"} in ${state.run.fileName}.`
          : ""}
      </p>
      <div className={dialogStyles.dialogActions}>
        <Actions
          state={state}
          isEmpty={isEmpty}
          isScheduled={isScheduled}
          start={() => void start()}
          resume={(run) => void resume(run)}
          giveUp={() => {
            giveUp();
            onClose();
          }}
          close={onClose}
        />
      </div>
    </Dialog>
  );
}

interface ActionsProps {
  readonly state: ExportState;
  /** Whether no entry matches. */
  readonly isEmpty: boolean;
  readonly isScheduled: boolean;
  readonly start: () => void;
  readonly resume: (run: ExportRun) => void;
  readonly giveUp: () => void;
  readonly close: () => void;
}

function Actions({ state, isEmpty, isScheduled, start, resume, giveUp, close }: ActionsProps) {
  switch (state.kind) {
    case "choosing":
      if (isScheduled) return <Button onClick={close}>Close</Button>;
      return (
        <>
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" disabled={isEmpty} onClick={start}>
            Export
          </Button>
        </>
      );
    case "running":
      return <Button onClick={giveUp}>Cancel export</Button>;
    case "failed":
      return (
        <>
          <Button onClick={giveUp}>Cancel export</Button>
          {isFinal(state.error) ? null : (
            <Button look="primary" onClick={() => resume(state.run)}>
              Resume
            </Button>
          )}
        </>
      );
    case "done":
      return (
        <Button look="primary" onClick={close}>
          Close
        </Button>
      );
  }
}

/** A summary of what the file will contain. */
function Extent({ filters, chosenKey }: Pick<ExportDialogProps, "filters" | "chosenKey">) {
  const words = filterParts(filters, chosenKey).map(({ label }) => label);
  return (
    <>
      <p>
        {words.length === 0
          ? "All entries of this account, oldest first."
          : "Entries that match these filters, oldest first:"}
      </p>
      {words.length === 0 ? null : (
        <ul className={listsStyles.chips}>
          {words.map((word) => (
            <li key={word}>
              <Badge>{word}</Badge>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

interface CountProps extends Pick<ExportDialogProps, "clearFilters"> {
  readonly summary: LogSummary | undefined;
}

/** The number of entries that the file will have. */
function Count({ summary, clearFilters }: CountProps) {
  if (summary === undefined) return null;
  const { total, countedFrom } = summary;
  if (total.requests === 0 && countedFrom === null) {
    return (
      <Notice tone="warning">
        <p>No entry matches: the file would be empty.</p>
        <Button onClick={clearFilters}>Clear filters</Button>
      </Notice>
    );
  }
  return (
    <p>
      {countedFrom === null ? "" : "More than "}
      <strong>{formatCounted(total.requests, "entry", "entries")}</strong>.
    </p>
  );
}

/** Whether a retry is useless, because the service has refused. An error without a code is not from the service. */
function isFinal(error: unknown): error is Error {
  return error instanceof UnwrittenError || (error instanceof APIError && error.code !== null);
}

/** What has failed, and what to do next. */
function failureText(error: unknown): string {
  if (isFinal(error)) return `${error.message} Nothing was saved.`;
  return "The connection failed several times. Resume continues where the export stopped.";
}
