import { formatCount } from "../../components/format.ts";
import { type OptionsQuery, type SearchOption, SearchSelect } from "../../components/SearchSelect.tsx";
import { filterOfText, isContained, textOfFilter } from "./filters.ts";

/** Values to choose from, and the query that they come from. */
export interface Suggestions {
  readonly values: readonly Suggestion[];
  readonly query: OptionsQuery;
}

/** A value to choose. */
interface Suggestion {
  readonly value: string;
  /** The number of entries that have it; `null` when that is unknown. */
  readonly count: number | null;
}

interface SuggestFieldProps {
  readonly label: string;
  /** The filter: a value, a pattern, or empty. */
  readonly value: string;
  readonly suggestions: Suggestions;
  readonly error?: string | undefined;
  /** Called with the chosen filter; empty for any value. */
  readonly onCommit: (filter: string) => void;
  /** Called when the suggestions are about to be shown. */
  readonly onOpen: () => void;
}

/** A choice of a value, or of a text that values contain. */
export function SuggestField({ label, value, suggestions, error, onCommit, onOpen }: SuggestFieldProps) {
  const isPattern = isContained(value);
  return (
    <SearchSelect
      label={isPattern ? `${label} contains` : label}
      searchLabel={`Search ${label.toLowerCase()}s`}
      text={value === "" ? null : textOfFilter(value)}
      placeholder="Any"
      value={value}
      error={error}
      optionsFor={(search) => optionsFor(search, suggestions.values, value)}
      query={suggestions.query}
      onChoose={onCommit}
      onOpen={onOpen}
    />
  );
}

function optionsFor(search: string, suggestions: readonly Suggestion[], chosen: string): SearchOption[] {
  const known = suggestions.map(({ value, count }) => ({
    value,
    label: value,
    note: count === null ? undefined : formatCount(count),
  }));
  if (search === "") return chosen === "" ? known : [{ value: "", label: "Any" }, ...known];
  const filter = filterOfText(
    search,
    suggestions.map(({ value }) => value),
  );
  const typed = known.find(({ value }) => value === filter) ?? { value: filter, label: labelOf(filter) };
  const text = search.toLowerCase();
  return [typed, ...known.filter(({ value }) => value !== filter && value.toLowerCase().includes(text))];
}

function labelOf(filter: string): string {
  return isContained(filter) ? `Contains “${textOfFilter(filter)}”` : `Matches “${filter}”`;
}
