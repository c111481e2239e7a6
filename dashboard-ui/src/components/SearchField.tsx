import { useEffect, useRef, useState } from "react";
import { Field } from "./Field.tsx";
import styles from "./SearchField.module.css";

interface SearchFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  /** What is searched for, as the address of the page says. */
  readonly value: string;
  readonly onSearch: (text: string) => void;
  /** How long after the last keystroke it is sent; unless given, long enough not to ask for every letter of a word. */
  readonly waitMs?: number;
}

const TYPING_MS = 250;

/** A search that stands in the page's address: it follows what is typed, and what "back" leads to. */
export function SearchField({ value, onSearch, waitMs = TYPING_MS, ...field }: SearchFieldProps) {
  const [text, setText] = useState(value);
  // What was sent and has not come back as `value`: it must not overwrite what has been typed since.
  const sent = useRef<string[]>([]);
  const last = useRef(value);

  useEffect(() => {
    if (value === last.current) return;
    last.current = value;
    const isOwn = sent.current.includes(value);
    sent.current = isOwn ? sent.current.slice(sent.current.indexOf(value) + 1) : [];
    if (!isOwn) setText(value);
  }, [value]);

  const send = () => {
    const wanted = text.trim();
    if (wanted === (sent.current.at(-1) ?? value)) return;
    sent.current.push(wanted);
    onSearch(wanted);
  };
  const sendLatest = useRef(send);
  useEffect(() => {
    sendLatest.current = send;
  });

  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
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
          if (event.key === "Enter") send();
        }}
      />
    </div>
  );
}
