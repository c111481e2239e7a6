import { useNavigate } from "@tanstack/react-router";
import { SearchField } from "../../components/SearchField.tsx";
import { Segmented } from "../../components/Segmented.tsx";
import { Select } from "../../components/Select.tsx";
import textStyles from "../../components/text.module.css";
import styles from "./KeyFilters.module.css";
import { type KeyOrder, type KeysSearch, readKeysSearch } from "./search.ts";

const STATES: readonly { readonly value: "all" | "active" | "revoked"; readonly label: string }[] = [
  { value: "all", label: "All" },
  { value: "active", label: "Active" },
  { value: "revoked", label: "Revoked" },
];
const ORDERS: readonly { readonly value: KeyOrder; readonly label: string }[] = [
  { value: "newest", label: "Newest first" },
  { value: "name", label: "Name" },
  { value: "last-use", label: "Last used" },
  { value: "requests", label: "Requests in 24 h" },
];

/** The delay is short because filtering sends no request. */
const WAIT_MS = 80;

interface KeyFiltersProps {
  readonly search: KeysSearch;
  /** The number of keys that match, in words. */
  readonly count: string;
}

/** The search, filter and order of the key list. */
export function KeyFilters({ search: { search, state, order }, count }: KeyFiltersProps) {
  const navigate = useNavigate({ from: "/settings/keys" });
  const changeFilters = (change: Record<string, string>) =>
    void navigate({ search: (now) => readKeysSearch({ ...now, ...change }), replace: true });
  return (
    <div className={styles.keyFilters}>
      <SearchField
        label="Search"
        placeholder="Name or key ID"
        value={search ?? ""}
        waitMs={WAIT_MS}
        onSearch={(text) => changeFilters({ search: text })}
      />
      <Segmented
        label="State"
        value={state ?? "all"}
        options={STATES}
        onChange={(value) => changeFilters({ state: value })}
      />
      <Select
        label="Sort by"
        options={ORDERS}
        value={order ?? "newest"}
        onChange={(event) => changeFilters({ order: event.target.value })}
      />
      <p className={textStyles.quiet} role="status">
        {count}
      </p>
    </div>
  );
}
