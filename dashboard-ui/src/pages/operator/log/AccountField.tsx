import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api } from "../../../api/client.ts";
import type { ListedAccount } from "../../../api/types.ts";
import formStyles from "../../../components/form.module.css";
import { useDraft } from "../../../components/use-draft.ts";
import { SuggestBox } from "../../audit/SuggestBox.tsx";

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
  const id = useId();
  const errorId = `${id}-error`;
  const [search, setSearch] = useState<string | null>(null);
  const found = useFound(search);
  const chosen = useQuery(
    api.operator.accounts.get.queryOptions(UUID.test(value) ? { id: value } : skipToken, { retry: false }),
  );
  const shown = value === "" ? "" : (chosen.data?.name ?? value);
  const [text, setText] = useDraft(shown);
  const commit = () => {
    const typed = text.trim();
    if (typed === shown) return;
    const account = found.find((each) => each.name === typed || each.id === typed);
    if (typed === "") onCommit("");
    else if (account !== undefined) onCommit(account.id);
    else if (UUID.test(typed)) onCommit(typed);
    else setText(shown);
  };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>Account</label>
      <SuggestBox
        id={id}
        text={text}
        suggestions={found.map((account) => ({ value: labelOf(account), count: null }))}
        isFiltered={false}
        errorId={error === undefined ? undefined : errorId}
        onType={(next) => {
          setText(next);
          setSearch(next.trim());
        }}
        onChoose={(label) => {
          const account = found.find((each) => labelOf(each) === label);
          if (account === undefined) return;
          setText(account.name);
          onCommit(account.id);
        }}
        onOpen={() => setSearch((before) => before ?? "")}
        commit={commit}
      />
      {error === undefined ? null : (
        <p id={errorId} className={formStyles.fieldError} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** The first accounts that match; nothing is asked for while the search is `null`. */
function useFound(search: string | null): readonly ListedAccount[] {
  const query = useQuery(
    api.operator.accounts.list.queryOptions(search === null ? skipToken : { search, limit: MAX_SUGGESTED }, {
      placeholderData: keepPreviousData,
    }),
  );
  return query.data?.accounts ?? NONE;
}

const NONE: readonly ListedAccount[] = [];

/** Accounts may have the same name, but no two users have the same address. */
function labelOf({ name, users }: ListedAccount): string {
  const [first] = users;
  return first === undefined ? name : `${name} (${first.email})`;
}
