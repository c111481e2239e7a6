import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import buttonStyles from "../../components/Button.module.css";
import { Button } from "../../components/Button.tsx";
import { formatCount } from "../../components/format.ts";
import { LearnMore } from "../../components/LearnMore.tsx";
import listsStyles from "../../components/lists.module.css";
import { Empty } from "../../components/Notice.tsx";
import textStyles from "../../components/text.module.css";
import { type AuditFilters, type FilterPart, filterParts, type NamedKey, withoutFilter } from "./filters.ts";
import { summaryQuery, useLogSource } from "./log-source.ts";

interface NoEntriesProps {
  readonly filters: AuditFilters;
  /** The key that the filters name, once it is known. */
  readonly chosenKey: NamedKey | undefined;
  readonly remove: (name: FilterPart["name"]) => void;
  readonly clear: () => void;
}

/** The text of a list without entries: which filter leaves none, and how to remove it. */
export function NoEntries({ filters, chosenKey, remove, clear }: NoEntriesProps) {
  const parts = filterParts(filters, chosenKey);
  const { emptyText, beginning } = useLogSource();
  if (parts.length === 0) {
    return (
      <Empty title="No requests yet" art="log">
        <p>{emptyText}</p>
        {beginning === undefined ? null : (
          <Link to={beginning.to} className={buttonStyles.button}>
            {beginning.label}
          </Link>
        )}
        <LearnMore about="audit" />
      </Empty>
    );
  }
  return (
    <Empty title="No entry matches" art="search">
      <p>No request matches {parts.length === 1 ? "this filter" : "all of these filters"}:</p>
      <Removals filters={filters} parts={parts} remove={remove} />
      {parts.length === 1 ? null : <Button onClick={clear}>Clear filters</Button>}
    </Empty>
  );
}

interface RemovalsProps extends Pick<NoEntriesProps, "filters" | "remove"> {
  readonly parts: readonly FilterPart[];
}

/** The filters in use, each with what its removal would find. */
function Removals({ filters, parts, remove }: RemovalsProps) {
  const source = useLogSource();
  const found = useQueries({
    queries: parts.map(({ name }) => summaryQuery(source, withoutFilter(filters, name))),
  });
  return (
    <ul className={listsStyles.chips}>
      {parts.map(({ name, label }, index) => {
        const count = found[index]?.data?.total.requests;
        return (
          <li key={name}>
            <Button aria-label={`Remove filter: ${label}`} onClick={() => remove(name)}>
              {label} <span aria-hidden="true">×</span>
            </Button>{" "}
            {count === undefined ? null : (
              <span className={textStyles.small}>{formatCount(count)} without it</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** The text shown when the service refuses a filter. */
export function FilterRefused() {
  return (
    <Empty title="Invalid filter" art="search">
      <p>Correct the field marked above.</p>
    </Empty>
  );
}
