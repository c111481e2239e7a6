import { useEffect, useRef, useState } from "react";
import { isComposing } from "./composing.ts";
import { Field } from "./Field.tsx";
import styles from "./SearchField.module.css";
import { searchTextOf } from "./search-text.ts";

interface SearchFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  /** The search text in the page's address. */
  readonly value: string;
  readonly onSearch: (text: string) => void;
  /** The delay after the last keystroke. The default avoids a request for every letter. */
  readonly waitMs?: number;
}

const TYPING_MS = 250;

/** A search field whose text is stored in the page's address. It follows typing and navigation alike. */
export function SearchField({ value, onSearch, waitMs = TYPING_MS, ...field }: SearchFieldProps) {
  const [text, setText] = useState(value);
  // Texts that were sent and have not yet come back as `value`. They must not overwrite what the user has typed since.
  const sent = useRef<string[]>([]);
  const last = useRef(value);
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);

  useEffect(() => {
    if (value === last.current) return;
    last.current = value;
    const isOwn = sent.current.includes(value);
    sent.current = isOwn ? sent.current.slice(sent.current.indexOf(value) + 1) : [];
    if (!isOwn) setText(value);
  }, [value]);

  const send = () => {
    clearTimeout(typing.current);
    const wanted = searchTextOf(text);
    if (wanted === (sent.current.at(-1) ?? value)) return;
    sent.current.push(wanted);
    onSearch(wanted);
  };
  const sendLatest = useRef(send);
  useEffect(() => {
    sendLatest.current = send;
  });

  useEffect(() => () => clearTimeout(typing.current), []);
  const type = (typed: string) => {
    setText(typed);
    clearTimeout(typing.current);
    typing.current = setTimeout(() => sendLatest.current(), waitMs);
  };

  return (
    <div className={styles.search}>
      <Field
        {...field}
        type="search"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !isComposing(event)) send();
        }}
        // A search that is sent later would lead back from the page that a link has begun to load.
        onBlur={send}
      />
    </div>
  );
}
