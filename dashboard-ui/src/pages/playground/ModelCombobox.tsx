import { Combobox } from "@base-ui/react/combobox";
import { useEffect, useRef, useState } from "react";
import type { ListedModel } from "../../api/types.ts";
import textStyles from "../../components/text.module.css";
import { matches } from "../models/model.ts";
import { MODEL_ARROW, type ModelBoxProps, priceOf } from "./ModelBox.tsx";
import styles from "./ModelChoice.module.css";

/** What the user did with the plain button in the place of this one. */
export interface TakenOver {
  readonly hasFocus: boolean;
  /** Whether the user pressed it, which opens the list. */
  readonly isOpen: boolean;
}

interface ModelComboboxProps extends ModelBoxProps {
  readonly before: TakenOver;
}

/** A button with a list of models to search and choose from. */
export function ModelCombobox({
  label,
  models,
  value,
  noteId,
  isInvalid,
  onChange,
  before,
}: ModelComboboxProps) {
  const trigger = useRef<HTMLButtonElement>(null);
  const first = useRef(before);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (first.current.hasFocus) trigger.current?.focus();
    setOpen(first.current.isOpen);
  }, []);
  return (
    <Combobox.Root
      items={models}
      value={value}
      itemToStringLabel={(model: ListedModel) => model.id}
      isItemEqualToValue={(one: ListedModel, other: ListedModel) => one.id === other.id}
      filter={(model: ListedModel, search) => matches(model, search.trim())}
      autoHighlight
      open={isOpen}
      onOpenChange={setOpen}
      onValueChange={(model) => {
        if (model !== null) onChange(model);
      }}
    >
      <Combobox.Label className={styles.comboboxLabel}>{label}</Combobox.Label>
      <Combobox.Trigger
        className={styles.comboboxTrigger}
        ref={trigger}
        aria-describedby={noteId}
        aria-invalid={isInvalid}
      >
        <span className={styles.comboboxName}>
          <Combobox.Value placeholder="Choose a model" />
        </span>
        {MODEL_ARROW}
      </Combobox.Trigger>
      <Combobox.Portal>
        <Combobox.Positioner className={styles.comboboxPositioner} sideOffset={4} align="start">
          <Combobox.Popup className={styles.comboboxPopup} aria-label="Models">
            <Combobox.Input
              className={styles.comboboxSearch}
              aria-label="Search models"
              placeholder="ID, alias, owner or modality"
              spellCheck={false}
            />
            <Combobox.Empty className={styles.comboboxEmpty}>No model matches.</Combobox.Empty>
            <Combobox.List className={styles.comboboxList} aria-label="Models">
              {(model: ListedModel) => (
                <Combobox.Item key={model.id} value={model} className={styles.comboboxItem}>
                  <span className={styles.comboboxName}>{model.id}</span>
                  <span className={textStyles.small}>{priceOf(model)}</span>
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}
