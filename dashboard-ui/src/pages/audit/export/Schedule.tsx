import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { Code } from "../../../components/Code.tsx";
import { CopyButton } from "../../../components/CopyButton.tsx";
import { Segmented } from "../../../components/Segmented.tsx";
import textStyles from "../../../components/text.module.css";
import type { AuditFilters } from "../filters.ts";
import styles from "./ExportDialog.module.css";
import type { ExportFormat } from "./export-run.ts";
import { cronLine, githubWorkflow, type ScheduleKind, TOKEN_VARIABLE } from "./schedule.ts";

const KINDS: readonly { readonly value: ScheduleKind; readonly label: string }[] = [
  { value: "cron", label: "cron" },
  { value: "github", label: "GitHub Actions" },
];

interface ScheduleProps {
  readonly filters: AuditFilters;
  readonly format: ExportFormat;
}

/** How to export each day. The export runs where its files are kept, so that the service needs no access to that place. */
export function Schedule({ filters, format }: ScheduleProps) {
  const [kind, setKind] = useState<ScheduleKind>("cron");
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  const serviceUrl = info.data?.publicUrl ?? location.origin;
  const scheduled = { filters, format, serviceUrl };
  const code = kind === "cron" ? cronLine(scheduled) : githubWorkflow(scheduled);
  return (
    <div className={styles.schedule}>
      <p>
        Each day at 00:15, this saves the entries of the day before, in UTC.{" "}
        {filters.from === undefined && filters.to === undefined ? "" : "The time filter is not used. "}
        <Link to="/settings/tokens">Create a management token</Link> and store it as{" "}
        <code>{TOKEN_VARIABLE}</code>
        {kind === "cron" ? " in the crontab." : " in the repository's secrets."}
      </p>
      <Segmented label="Run by" value={kind} options={KINDS} onChange={setKind} />
      <Code label="Schedule" language={kind === "cron" ? "bash" : "yaml"}>
        {code}
      </Code>
      <p>
        <CopyButton text={code} what={kind === "cron" ? "crontab line" : "workflow"} />
      </p>
      {kind === "cron" ? (
        <p className={textStyles.small}>Needs curl and GNU date. Set the time zone of cron to UTC.</p>
      ) : null}
    </div>
  );
}
