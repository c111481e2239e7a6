import { useState } from "react";
import type { ListedKey } from "../../api/types.ts";
import { SearchSelect } from "../../components/SearchSelect.tsx";
import { usePaused } from "../../components/use-paused.ts";
import { useFoundKeys } from "./use-filter-key.ts";

interface KeyFieldProps {
  /** The filter, as in the address; empty for any key. */
  readonly value: string;
  /** The key that it names, once it is known. */
  readonly chosen: ListedKey | undefined;
  readonly hint?: string;
  readonly error?: string | undefined;
  /** What an empty field stands for. */
  readonly placeholder?: string;
  /** Whether one can go back to the empty field. */
  readonly isOptional?: boolean;
  /** Called with the id of a key, or an empty text. */
  readonly onCommit: (id: string) => void;
}

/** A choice of a key. The service searches, because an account may have thousands. */
export function KeyField(props: KeyFieldProps) {
  const { value, chosen, hint, error, placeholder = "Any", isOptional = true, onCommit } = props;
  const [isWanted, setWanted] = useState(false);
  const [search, setSearch] = useState("");
  const query = useFoundKeys(usePaused(search), isWanted);
  const found = query.data?.keys ?? [];
  const named = chosen ?? found.find((key) => key.id === value);
  const optionsFor = (text: string) => {
    const options = found
      .map((key) => ({ value: key.id, label: labelOf(key) }))
      .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()));
    return text === "" && value !== "" && isOptional
      ? [{ value: "", label: placeholder }, ...options]
      : options;
  };
  return (
    <SearchSelect
      label="Key"
      searchLabel="Search keys"
      searchPlaceholder="Name or last four characters"
      text={named === undefined ? (value === "" ? null : value) : labelOf(named)}
      placeholder={placeholder}
      value={named?.id ?? value}
      hint={hint}
      error={error}
      optionsFor={optionsFor}
      query={query}
      onChoose={onCommit}
      onSearch={setSearch}
      onOpen={() => {
        setWanted(true);
        setSearch("");
      }}
    />
  );
}

function labelOf({ name, keyId, state }: ListedKey): string {
  return `${name} (…${keyId})${state === "revoked" ? ", revoked" : ""}`;
}
