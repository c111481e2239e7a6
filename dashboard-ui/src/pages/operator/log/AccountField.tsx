import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import type { ListedAccount } from "../../../api/types.ts";
import { type SearchOption, SearchSelect } from "../../../components/SearchSelect.tsx";

interface AccountFieldProps {
  /** The id of the account; empty for any. */
  readonly value: string;
  readonly error?: string | undefined;
  /** Called with the id of an account, or an empty text. */
  readonly onCommit: (id: string) => void;
}

const MAX_SUGGESTED = 20;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** A choice of an account by its name, an e-mail address or its id. The service searches. */
export function AccountField({ value, error, onCommit }: AccountFieldProps) {
  const [search, setSearch] = useState<string | null>(null);
  const found = useFound(search);
  const chosen = useQuery(
    api.operator.accounts.get.queryOptions(UUID.test(value) ? { id: value } : skipToken, { retry: false }),
  );
  return (
    <SearchSelect
      label="Account"
      searchLabel="Search accounts"
      searchPlaceholder="Name, e-mail address or ID"
      text={value === "" ? null : (chosen.data?.name ?? value)}
      placeholder="Any"
      value={value}
      error={error}
      optionsFor={(text) => optionsFor(text.trim(), found.data?.accounts ?? [], value)}
      query={found}
      onChoose={onCommit}
      onSearch={(text) => setSearch(text.trim())}
      onOpen={() => setSearch("")}
    />
  );
}

function optionsFor(text: string, found: readonly ListedAccount[], chosen: string): SearchOption[] {
  const accounts = found.map((account) => ({ value: account.id, label: labelOf(account) }));
  if (text === "" && chosen !== "") return [{ value: "", label: "Any" }, ...accounts];
  return accounts.length === 0 && UUID.test(text) ? [{ value: text, label: text }] : accounts;
}

/** A query for the first accounts that match; nothing is asked for while the search is `null`. */
function useFound(search: string | null) {
  return useQuery(
    api.operator.accounts.list.queryOptions(search === null ? skipToken : { search, limit: MAX_SUGGESTED }, {
      placeholderData: keepPreviousData,
    }),
  );
}

/** Accounts may have the same name, but no two users have the same address. */
function labelOf({ name, users }: ListedAccount): string {
  const [first] = users;
  return first === undefined ? name : `${name} (${first.email})`;
}
