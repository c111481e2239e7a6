import { useEffect, useRef, useState } from "react";
import { APIError } from "../../../../../sdk/src/session.ts";
import { noticeSignedOut } from "../../../api/client.ts";
import type { AuditFilters } from "../filters.ts";
import { type ExportFormat, type ExportProgress, ExportRun } from "./export-run.ts";
import { openTarget } from "./export-target.ts";

export type ExportState =
  | { readonly kind: "choosing"; readonly error: string | null }
  | { readonly kind: "running" | "done"; readonly run: ExportRun }
  | { readonly kind: "failed"; readonly run: ExportRun; readonly error: unknown };

/** The interval between updates, short enough for visible movement. */
const REDRAW_MS = 100;

/** An export to a file that the user chooses, and its state. Leaving the page discards an unfinished file. */
export function useExport(format: ExportFormat, filters: AuditFilters) {
  const [state, setState] = useState<ExportState>({ kind: "choosing", error: null });
  const [progress, setProgress] = useState<ExportProgress | null>(null);
  const [startedAt, setStartedAt] = useState(() => new Date());
  const unfinished = useRef<ExportRun | null>(null);
  useEffect(() => () => void unfinished.current?.giveUp(), []);

  /** Runs an export, from its beginning or from where it has failed. */
  const resume = async (run: ExportRun) => {
    setState({ kind: "running", run });
    unfinished.current = run;
    try {
      await run.run();
      unfinished.current = null;
      setState({ kind: "done", run });
    } catch (error) {
      if (run.isGivenUp) return;
      if (error instanceof APIError && error.code === "not_signed_in") noticeSignedOut();
      setState({ kind: "failed", run, error });
    }
  };

  const start = async () => {
    const now = new Date();
    setStartedAt(now);
    try {
      const target = await openTarget(format, now);
      if (target === null) return;
      let drawnMs = 0;
      let latest: ExportProgress | null = null;
      const draw = () => {
        drawnMs = performance.now();
        setProgress(latest);
      };
      const run = new ExportRun(format, filters, target, (next) => {
        latest = next;
        if (performance.now() - drawnMs > REDRAW_MS) draw();
      });
      await resume(run);
      draw();
    } catch {
      setState({ kind: "choosing", error: "The file can't be written. Choose another location." });
    }
  };

  /** Ends an unfinished export and discards its file. */
  const giveUp = () => {
    void unfinished.current?.giveUp();
    unfinished.current = null;
  };

  return { state, progress, startedAt, start, resume, giveUp };
}
