import buttonStyles from "../../components/Button.module.css";
import { classes } from "../../components/classes.ts";
import {
  formatCount,
  formatCountBriefly,
  formatDateTime,
  formatShare,
  formatUsdRoughly,
} from "../../components/format.ts";
import { LoadError } from "../../components/Notice.tsx";
import { staleProps } from "../../components/stale.ts";
import textStyles from "../../components/text.module.css";
import { countFilters } from "./filters.ts";
import { Histogram } from "./Histogram.tsx";
import styles from "./LogTotals.module.css";
import type { AuditSearch } from "./search.ts";
import type { useSummary } from "./use-summary.ts";

interface LogTotalsProps {
  readonly query: ReturnType<typeof useSummary>;
  /** Whether the entries could not be loaded either: their error is shown, and is loaded again with the totals. */
  readonly hasOtherError: boolean;
  readonly search: AuditSearch;
  readonly changeFilters: (change: AuditSearch) => void;
  readonly clearFilters: () => void;
}

/** The totals of the entries that match, and when they came in. */
export function LogTotals({ query, hasOtherError, search, changeFilters, clearFilters }: LogTotalsProps) {
  const { data: summary, isPlaceholderData, isError, error } = query;
  const unknown = isError ? "–" : "…";
  const total = summary?.total;
  const isErrorsOnly = search.status === "error";
  return (
    <section className={styles.totals} aria-label="Totals">
      {isError && !hasOtherError ? (
        <LoadError
          error={error}
          busy={query.isFetching}
          hasData={summary !== undefined}
          retry={() => void query.refetch()}
        />
      ) : null}
      <div className={styles.figures}>
        <dl {...staleProps(isPlaceholderData)}>
          <Figure name="Requests" value={total === undefined ? unknown : formatCount(total.requests)} />
          <Figure
            name="Errors"
            value={
              total === undefined
                ? unknown
                : `${formatCount(total.errors)}${total.errors === 0 ? "" : ` (${formatShare(total.errors / total.requests)})`}`
            }
          />
          <Figure
            name="Tokens"
            value={
              total === undefined ? unknown : formatCountBriefly(total.promptTokens + total.completionTokens)
            }
          />
          <Figure name="Cost" value={total === undefined ? unknown : formatUsdRoughly(total.costNanoUsd)} />
        </dl>
        <span className={classes(styles.note, textStyles.small)}>{noteOn(query)}</span>
        {countFilters(search) === 0 ? null : (
          <button type="button" className={classes(buttonStyles.button, styles.small)} onClick={clearFilters}>
            Clear filters
          </button>
        )}
        <button
          type="button"
          className={classes(buttonStyles.button, styles.small, styles.errorsOnly)}
          aria-pressed={isErrorsOnly}
          onClick={() => changeFilters({ status: isErrorsOnly ? undefined : "error" })}
        >
          Errors only
        </button>
      </div>
      <div {...staleProps(isPlaceholderData)}>
        <Histogram
          summary={summary}
          onPeriod={(from, to) =>
            changeFilters({ from: from.toISOString(), to: to.toISOString(), range: undefined })
          }
        />
      </div>
    </section>
  );
}

function noteOn({ data, isPlaceholderData }: LogTotalsProps["query"]): string {
  if (isPlaceholderData) return "Updating…";
  return data?.countedFrom == null ? "" : `Counted since ${formatDateTime(data.countedFrom)}`;
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
