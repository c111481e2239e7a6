import type { LogSummary } from "../../api/types.ts";
import buttonStyles from "../../components/Button.module.css";
import { classes } from "../../components/classes.ts";
import {
  formatCount,
  formatCountBriefly,
  formatDateTime,
  formatShare,
  formatUsdRoughly,
} from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { countFilters } from "./filters.ts";
import { Histogram } from "./Histogram.tsx";
import styles from "./LogTotals.module.css";
import type { AuditSearch } from "./search.ts";

interface LogTotalsProps {
  readonly summary: LogSummary | undefined;
  readonly search: AuditSearch;
  readonly put: (change: AuditSearch) => void;
  readonly clearFilters: () => void;
}

/** The totals of the entries that match, and when they came in. */
export function LogTotals({ summary, search, put, clearFilters }: LogTotalsProps) {
  const total = summary?.total;
  const isErrorsOnly = search.status === "error";
  return (
    <section className={styles.totals} aria-label="Totals">
      <div className={styles.figures}>
        <dl>
          <Figure name="Requests" value={total === undefined ? "…" : formatCount(total.requests)} />
          <Figure
            name="Errors"
            value={
              total === undefined
                ? "…"
                : `${formatCount(total.errors)}${total.errors === 0 ? "" : ` (${formatShare(total.errors / total.requests)})`}`
            }
          />
          <Figure
            name="Tokens"
            value={
              total === undefined ? "…" : formatCountBriefly(total.promptTokens + total.completionTokens)
            }
          />
          <Figure name="Cost" value={total === undefined ? "…" : formatUsdRoughly(total.costNanoUsd)} />
        </dl>
        <span className={classes(styles.note, textStyles.small)}>
          {summary?.countedFrom == null ? "" : `Counted since ${formatDateTime(summary.countedFrom)}`}
        </span>
        {countFilters(search) === 0 ? null : (
          <button type="button" className={classes(buttonStyles.button, styles.small)} onClick={clearFilters}>
            Clear filters
          </button>
        )}
        <button
          type="button"
          className={classes(buttonStyles.button, styles.small, styles.errorsOnly)}
          aria-pressed={isErrorsOnly}
          onClick={() => put({ status: isErrorsOnly ? undefined : "error" })}
        >
          Errors only
        </button>
      </div>
      <Histogram
        summary={summary}
        onPeriod={(from, to) => put({ from: from.toISOString(), to: to.toISOString(), range: undefined })}
      />
    </section>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
