import { type ComponentProps, type ComponentType, useId, useRef, useState } from "react";
import type { ListedModel } from "../../api/types.ts";
import { formatUsd } from "../../components/format.ts";
import { lazyCode } from "../../components/lazy-code.tsx";
import { isFree } from "../models/model.ts";
import styles from "./ModelChoice.module.css";
import type { ModelCombobox, TakenOver } from "./ModelCombobox.tsx";

export interface ModelBoxProps {
  readonly label: string;
  readonly models: readonly ListedModel[];
  readonly value: ListedModel | null;
  /** The element that describes the choice. */
  readonly noteId: string;
  readonly isInvalid: boolean;
  readonly onChange: (model: ListedModel) => void;
}

/** The list of models needs much code, which is loaded when the button has the pointer or the focus. */
export const modelCombobox = lazyCode(async () => (await import("./ModelCombobox.tsx")).ModelCombobox);

export const MODEL_ARROW = (
  <svg width="16" height="16" viewBox="0 0 16 16" fill="currentColor" aria-hidden="true">
    <path d="M12 6H4l4 4.5z" />
  </svg>
);

interface Loaded {
  readonly Choice: ComponentType<ComponentProps<typeof ModelCombobox>>;
  readonly before: TakenOver;
}

/** The button of the choice of a model; its list opens once the code of the list is loaded. */
export function ModelBox(props: ModelBoxProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const isOpen = useRef(false);
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const load = () =>
    void modelCombobox.load().then(
      (Choice) =>
        setLoaded(
          (now) =>
            now ?? {
              Choice,
              before: { hasFocus: document.activeElement === button.current, isOpen: isOpen.current },
            },
        ),
      // The next press tries again.
      () => undefined,
    );
  if (loaded !== null) return <loaded.Choice {...props} before={loaded.before} />;
  const { label, value, noteId, isInvalid } = props;
  return (
    <>
      <span id={id} className={styles.comboboxLabel}>
        {label}
      </span>
      <button
        ref={button}
        type="button"
        role="combobox"
        className={styles.comboboxTrigger}
        aria-expanded={false}
        aria-haspopup="dialog"
        aria-labelledby={id}
        aria-describedby={noteId}
        aria-invalid={isInvalid}
        onPointerOver={load}
        onFocus={load}
        // The list's own button may take this one's place before the pointer is released.
        onPointerDown={({ pointerType }) => {
          if (pointerType === "mouse") isOpen.current = true;
        }}
        onClick={() => {
          isOpen.current = true;
          load();
        }}
        onKeyDown={({ key }) => {
          if (key === "ArrowDown" || key === "ArrowUp") isOpen.current = true;
        }}
        onBlur={() => {
          isOpen.current = false;
        }}
      >
        <span className={styles.comboboxName}>{value === null ? "Choose a model" : value.id}</span>
        {MODEL_ARROW}
      </button>
    </>
  );
}

export function priceOf(model: ListedModel): string {
  const { prices } = model;
  if (prices === null) return "Free";
  if (isFree(model)) return "Free";
  return `${formatUsd(prices.inputNanoUsdPerMTok)} in, ${formatUsd(prices.outputNanoUsdPerMTok)} out`;
}
