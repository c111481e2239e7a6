import { type ComponentProps, type ComponentType, useEffect, useRef, useState } from "react";
import { lazyCode } from "../../components/lazy-code.tsx";
import type { SuggestInput, TakenOver } from "./SuggestInput.tsx";

/** A value to choose. */
export interface Suggestion {
  readonly value: string;
  /** The number of entries that have it; `null` when that is unknown. */
  readonly count: number | null;
}

export interface SuggestBoxProps {
  readonly id: string;
  readonly text: string;
  /** What an empty field stands for. Default: any. */
  readonly placeholder?: string;
  readonly suggestions: readonly Suggestion[];
  /** Whether the suggestions that don't contain the text are left out. */
  readonly isFiltered: boolean;
  /** The element that says what is wrong with the text. */
  readonly errorId: string | undefined;
  readonly onType: (text: string) => void;
  readonly onChoose: (text: string) => void;
  /** Called when the suggestions are about to be shown. */
  readonly onOpen: () => void;
  /** Called on Enter and on blur. */
  readonly commit: () => void;
}

/** The list of suggestions needs much code, which is loaded when the first field has the pointer or the focus. */
export const suggestInput = lazyCode(async () => (await import("./SuggestInput.tsx")).SuggestInput);

type LoadedInput = ComponentType<ComponentProps<typeof SuggestInput>>;

/** The plain fields on the page. All change at once, so that none does while a user types into it. */
const plain = new Set<(Input: LoadedInput) => void>();

function load(): void {
  suggestInput.restart();
  void suggestInput.load().then(
    (Input) => {
      for (const change of plain) change(Input);
    },
    // The field works without suggestions, and the next focus tries again.
    () => undefined,
  );
}

interface Loaded {
  readonly Input: LoadedInput;
  readonly before: TakenOver;
}

/** A field with suggestions; without them until their code is loaded. */
export function SuggestBox(props: SuggestBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  const isOpen = useRef(false);
  const [loaded, setLoaded] = useState<Loaded | null>(() => {
    const Input = suggestInput.current();
    return Input === null ? null : { Input, before: UNTOUCHED };
  });
  useEffect(() => {
    const change = (Input: LoadedInput) =>
      setLoaded((now) => now ?? { Input, before: stateOf(input.current, isOpen.current) });
    plain.add(change);
    return () => void plain.delete(change);
  }, []);
  if (loaded !== null) return <loaded.Input {...props} before={loaded.before} />;
  const { id, text, placeholder = "Any", errorId, onType, onOpen, commit } = props;
  return (
    <input
      ref={input}
      id={id}
      role="combobox"
      aria-expanded={false}
      aria-haspopup="listbox"
      aria-autocomplete="list"
      autoComplete="off"
      placeholder={placeholder}
      spellCheck={false}
      value={text}
      aria-invalid={errorId !== undefined}
      aria-describedby={errorId}
      onPointerOver={load}
      onFocus={() => {
        load();
        onOpen();
      }}
      onPointerDown={() => {
        isOpen.current = true;
      }}
      onChange={(event) => {
        isOpen.current = true;
        onType(event.target.value);
      }}
      onBlur={() => {
        isOpen.current = false;
        commit();
      }}
      onKeyDown={({ key }) => {
        if (key === "Enter") commit();
        if (key === "ArrowDown" || key === "ArrowUp") isOpen.current = true;
        if (key === "Enter" || key === "Escape") isOpen.current = false;
      }}
    />
  );
}

const UNTOUCHED: TakenOver = { selection: null, isOpen: false };

function stateOf(input: HTMLInputElement | null, isOpen: boolean): TakenOver {
  if (input === null || document.activeElement !== input) return UNTOUCHED;
  return { selection: [input.selectionStart, input.selectionEnd], isOpen };
}
