import { useEffect, useId, useState } from "react";
import type { ListedKey } from "../../api/types.ts";
import formStyles from "../../components/form.module.css";
import { useDraft } from "../../components/use-draft.ts";
import { SuggestBox } from "./SuggestBox.tsx";
import { useFoundKeys } from "./use-filter-key.ts";

interface KeyFieldProps {
  /** The filter, as in the address; empty for any key. */
  readonly value: string;
  /** The key that it names, once it is known. */
  readonly chosen: ListedKey | undefined;
  readonly error?: string | undefined;
  readonly placeholder?: string;
  /** Called with the id of a key, or an empty text. */
  readonly onCommit: (id: string) => void;
}

/** How long typing pauses before keys are searched. */
const WAIT_MS = 150;

/** A choice of a key. The service searches, because an account may have thousands. */
export function KeyField({ value, chosen, error, placeholder, onCommit }: KeyFieldProps) {
  const id = useId();
  const errorId = `${id}-error`;
  const [isWanted, setWanted] = useState(false);
  const [search, setSearch] = useState("");
  const found = useFoundKeys(usePaused(search), isWanted);
  const named = chosen ?? found.find((key) => key.id === value);
  const shown = named === undefined ? value : labelOf(named);
  const [text, setText] = useDraft(shown);
  const choose = (key: ListedKey) => {
    setText(shown);
    setSearch("");
    if (key.id !== named?.id) onCommit(key.id);
  };
  const commit = () => {
    const typed = text.trim();
    if (typed === shown) return;
    const exact = found.find((key) => key.keyId === typed || key.name === typed || labelOf(key) === typed);
    if (typed === "") onCommit("");
    else if (exact !== undefined) choose(exact);
    else setText(shown);
  };
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>Key</label>
      <SuggestBox
        id={id}
        text={text}
        {...(placeholder === undefined ? {} : { placeholder })}
        suggestions={found.map((key) => ({ value: labelOf(key), count: null }))}
        isFiltered={false}
        errorId={error === undefined ? undefined : errorId}
        onType={(next) => {
          setText(next);
          setSearch(next.trim());
        }}
        onChoose={(next) => {
          const key = found.find((candidate) => labelOf(candidate) === next);
          if (key !== undefined) choose(key);
        }}
        onOpen={() => setWanted(true)}
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

function labelOf({ name, keyId, state }: ListedKey): string {
  return `${name} (…${keyId})${state === "revoked" ? ", revoked" : ""}`;
}

/** The text once typing has paused. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
