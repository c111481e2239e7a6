import { type ReactNode, useId, useMemo, useState } from "react";
import { errorFieldOf, errorTextAt } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { classes } from "../../components/classes.ts";
import type { OptionsQuery } from "../../components/SearchSelect.tsx";
import { Select } from "../../components/Select.tsx";
import { TextField } from "../../components/TextField.tsx";
import styles from "./Filters.module.css";
import { type AuditFilters, countFilters, RANGE_NAMES } from "./filters.ts";
import { RequestIdField } from "./RequestIdField.tsx";
import { SuggestField } from "./SuggestField.tsx";
import { type AuditSearch, type NO_FILTERS, RANGES } from "./search.ts";
import { ERROR_CODES, STATUSES } from "./statuses.ts";
import { TimeField } from "./TimeField.tsx";
import { useSuggestions } from "./use-summary.ts";

interface FiltersProps {
  readonly search: AuditSearch;
  readonly filters: AuditFilters;
  /** The catalog, whose models are always suggested. */
  readonly catalog: OptionsQuery & {
    readonly data: { readonly models: readonly { readonly id: string }[] } | undefined;
  };
  /** The error of the service, if it refused the filters. */
  readonly error: unknown;
  /** Changes the filters of the address. */
  readonly changeFilters: (change: AuditSearch) => void;
  /** Opens the entry of a request. */
  readonly onFind: (requestId: string) => void;
  /** The fields after the time: those of the key and of the account. */
  readonly children: ReactNode;
  /** Whether the upstream is one of the fields. */
  readonly hasUpstream?: boolean;
}

const ANY = { value: "", label: "Any" };
const NONE_KNOWN: readonly string[] = [];
const TIMES = [
  { value: "", label: "Any time" },
  ...RANGES.map((range) => ({ value: range, label: RANGE_NAMES[range] })),
  { value: "custom", label: "Custom…" },
];

/** The form of the log's filters. */
export function Filters(props: FiltersProps) {
  const { search, filters, catalog, error, changeFilters, onFind, children, hasUpstream = false } = props;
  const id = useId();
  const [isOpened, setOpened] = useState({ model: false, error_code: false, upstream: false });
  const knownModels = useMemo(() => catalog.data?.models.map(({ id }) => id) ?? [], [catalog.data]);
  const models = useSuggestions(filters, "model", knownModels, isOpened.model);
  const upstreams = useSuggestions(filters, "upstream", NONE_KNOWN, isOpened.upstream);
  const errorCodes = useSuggestions(filters, "error_code", ERROR_CODES, isOpened.error_code);
  const [isCustomWanted, setCustomWanted] = useState(false);
  // On a phone, the filters are folded by default.
  const [isUnfolded, setUnfolded] = useState(false);
  const used = countFilters(search);
  const isFolded = !isUnfolded && errorFieldOf(error) === null;

  const changeFilter = (name: keyof typeof NO_FILTERS) => (value: string) =>
    changeFilters({ [name]: value === "" ? undefined : value });

  return (
    <section className={styles.filters} aria-label="Filters">
      <div className={styles.filtersHead}>
        <Button aria-expanded={!isFolded} aria-controls={id} onClick={() => setUnfolded(isFolded)}>
          Filters{used === 0 ? "" : ` (${used})`}
        </Button>
      </div>
      <div id={id} className={classes(styles.filtersFields, isFolded && styles.filtersFolded)}>
        <TimeFilter
          search={search}
          filters={filters}
          error={error}
          changeFilters={changeFilters}
          isCustomWanted={isCustomWanted}
          setCustomWanted={setCustomWanted}
        />
        {children}
        <SuggestField
          label="Model"
          value={search.model ?? ""}
          suggestions={catalog.isError && !models.query.isError ? { ...models, query: catalog } : models}
          error={errorTextAt(error, "model")}
          onOpen={() => setOpened((now) => ({ ...now, model: true }))}
          onCommit={changeFilter("model")}
        />
        {hasUpstream ? (
          <SuggestField
            label="Upstream"
            value={search.upstream ?? ""}
            suggestions={upstreams}
            error={errorTextAt(error, "upstream")}
            onOpen={() => setOpened((now) => ({ ...now, upstream: true }))}
            onCommit={changeFilter("upstream")}
          />
        ) : null}
        <Select
          label="Status"
          options={withGiven([ANY, ...STATUSES], search.status ?? "")}
          value={search.status ?? ""}
          error={errorTextAt(error, "status")}
          onChange={(event) => changeFilter("status")(event.target.value)}
        />
        <SuggestField
          label="Error code"
          value={search.error_code ?? ""}
          suggestions={errorCodes}
          error={errorTextAt(error, "error_code")}
          onOpen={() => setOpened((now) => ({ ...now, error_code: true }))}
          onCommit={changeFilter("error_code")}
        />
        <RequestIdField onFind={onFind} />
        <TextField
          label="Source IP or CIDR"
          placeholder="Any"
          value={search.source ?? ""}
          error={errorTextAt(error, "source")}
          onCommit={changeFilter("source")}
        />
      </div>
    </section>
  );
}

interface TimeFilterProps extends Pick<FiltersProps, "search" | "filters" | "error"> {
  readonly changeFilters: (change: AuditSearch) => void;
  /** Whether the user opened the custom fields. They stay while the address has a custom time. */
  readonly isCustomWanted: boolean;
  readonly setCustomWanted: (isWanted: boolean) => void;
}

function TimeFilter({
  search,
  filters,
  error,
  changeFilters,
  isCustomWanted,
  setCustomWanted,
}: TimeFilterProps) {
  const { range, from = "", to = "" } = search;
  const isCustom = from !== "" || to !== "" || isCustomWanted;
  const changeRange = (value: string) => {
    setCustomWanted(value === "custom");
    // The fields begin with the period that was shown.
    if (value === "custom") changeFilters({ range: undefined, from: filters.from, to: filters.to });
    else changeFilters({ range: RANGES.find((known) => known === value), from: undefined, to: undefined });
  };
  const changeTime = (name: "from" | "to") => (value: string) =>
    changeFilters({ [name]: value === "" ? undefined : value });
  return (
    <>
      <Select
        label="Time"
        options={TIMES}
        value={isCustom ? "custom" : (range ?? "")}
        onChange={(event) => changeRange(event.target.value)}
      />
      {isCustom ? (
        <>
          <TimeField
            label="From"
            value={from}
            error={errorTextAt(error, "from")}
            onCommit={changeTime("from")}
          />
          <TimeField label="Before" value={to} error={errorTextAt(error, "to")} onCommit={changeTime("to")} />
        </>
      ) : null}
    </>
  );
}

/** Adds the address's value to the options if it is not one of them. */
function withGiven(
  options: readonly { readonly value: string; readonly label: string }[],
  value: string,
): readonly { readonly value: string; readonly label: string }[] {
  return options.some((option) => option.value === value) ? options : [...options, { value, label: value }];
}
