import type { CatalogModel, CatalogUpstream } from "../../../api/types.ts";
import { type Column, DataTable, NoRows } from "../../../components/DataTable.tsx";
import { formatCount, formatCounted, formatDuration, formatSpan } from "../../../components/format.ts";
import { Pair } from "../../../components/Pair.tsx";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import consoleStyles from "../console.module.css";
import { Dialect } from "../Dialect.tsx";
import catalogStyles from "./catalog.module.css";

interface CatalogUpstreamsProps {
  /** The upstreams that match the search. */
  readonly upstreams: readonly CatalogUpstream[];
  /** The number of all upstreams. */
  readonly of: number;
  /** All models, to count those that an upstream serves. */
  readonly models: readonly CatalogModel[];
}

/** A table of upstreams with their timeouts. */
export function CatalogUpstreams({ upstreams, of, models }: CatalogUpstreamsProps) {
  return (
    <section className={consoleStyles.consolePart} aria-labelledby="upstreams">
      <div className={panelStyles.panelHead}>
        <h2 id="upstreams">Upstreams</h2>
        <p className={textStyles.quiet} role="status">
          {upstreams.length === of
            ? formatCount(of)
            : `${formatCount(upstreams.length)} of ${formatCount(of)}`}
        </p>
      </div>
      {upstreams.length === 0 ? (
        <NoRows>{of === 0 ? "The catalog has no upstreams." : "No upstream matches."}</NoRows>
      ) : (
        <DataTable
          caption="Upstreams with their settings"
          className={catalogStyles.catalogTable}
          columns={columnsFor(models)}
          rows={upstreams}
          rowKey={({ name }) => name}
        />
      )}
    </section>
  );
}

function columnsFor(models: readonly CatalogModel[]): readonly Column<CatalogUpstream>[] {
  return [
    {
      label: "Upstream",
      kind: "name",
      cell: (upstream) => (
        <Pair first={upstream.name}>
          <Dialect upstream={upstream} />
        </Pair>
      ),
    },
    {
      label: "Credential",
      cell: ({ hasCredential }) => (hasCredential ? "set" : <span className={textStyles.quiet}>none</span>),
    },
    { label: "Models", kind: "number", cell: ({ name }) => formatCount(servedBy(name, models)) },
    {
      label: "Concurrent requests",
      kind: "number",
      cell: ({ maxConcurrency }) => formatCount(maxConcurrency),
    },
    {
      label: "Timeouts",
      cell: ({ timeouts }) => (
        <Pair first={`First byte: ${timeOf(timeouts.firstByteMs)}`}>
          Connect: {timeOf(timeouts.connectMs)}, idle: {timeOf(timeouts.idleMs)}, total:{" "}
          {timeOf(timeouts.totalMs)}
        </Pair>
      ),
    },
    {
      label: "Breaker opens",
      cell: ({ breaker }) => (
        <Pair first={`after ${formatCounted(breaker.failures, "failure")}`}>
          for {timeOf(breaker.openMs)} initially
        </Pair>
      ),
    },
  ];
}

function servedBy(upstream: string, models: readonly CatalogModel[]): number {
  return models.filter(({ routes }) => routes.some((route) => route.upstream === upstream)).length;
}

/** Settings are usually round numbers: "2 minutes" reads better than "120.0 s". */
function timeOf(milliseconds: number): string {
  return milliseconds > 0 && milliseconds % 1_000 === 0
    ? formatSpan(milliseconds / 1_000)
    : formatDuration(milliseconds);
}
