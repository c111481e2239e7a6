import { Combobox } from "@base-ui/react/combobox";
import { Link } from "@tanstack/react-router";
import { useId } from "react";
import type { ListedModel } from "../../api/types.ts";
import formStyles from "../../components/form.module.css";
import { formatCount, formatUsd } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import { isFree, matches } from "../models/model.ts";
import styles from "./ModelChoice.module.css";

interface ModelChoiceProps {
  readonly label: string;
  readonly models: readonly ListedModel[];
  readonly value: ListedModel | null;
  /** The requested name, if no such model exists. */
  readonly missing: string | null;
  readonly onChange: (model: ListedModel) => void;
}

/** The choice of a chat model, searchable by id, alias or owner. */
export function ModelChoice({ label, models, value, missing, onChange }: ModelChoiceProps) {
  const id = useId();
  return (
    <div className={formStyles.field}>
      <Combobox.Root
        items={models}
        value={value}
        itemToStringLabel={(model: ListedModel) => model.id}
        isItemEqualToValue={(one: ListedModel, other: ListedModel) => one.id === other.id}
        filter={(model: ListedModel, search) => matches(model, search.trim())}
        autoHighlight
        onValueChange={(model) => {
          if (model !== null) onChange(model);
        }}
      >
        <Combobox.Label className={styles.comboboxLabel}>{label}</Combobox.Label>
        <Combobox.Trigger
          className={styles.comboboxTrigger}
          aria-describedby={`${id}-note`}
          aria-invalid={missing !== null}
        >
          <span className={styles.comboboxName}>
            <Combobox.Value placeholder="Choose a model" />
          </span>
          <svg width="16" height="16" viewBox="0 0 16 16" fill="currentColor" aria-hidden="true">
            <path d="M12 6H4l4 4.5z" />
          </svg>
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
      {missing === null ? (
        <p id={`${id}-note`} className={formStyles.hint}>
          {value === null ? null : factsOf(value)}
        </p>
      ) : (
        <p id={`${id}-note`} className={formStyles.fieldError} role="alert">
          The catalog has no chat model “{missing}”. Choose another one, or see{" "}
          <Link to="/models">all models</Link>.
        </p>
      )}
    </div>
  );
}

function priceOf(model: ListedModel): string {
  const { prices } = model;
  if (prices === null) return "Free";
  if (isFree(model)) return "Free";
  return `${formatUsd(prices.inputNanoUsdPerMTok)} in, ${formatUsd(prices.outputNanoUsdPerMTok)} out`;
}

function factsOf(model: ListedModel): string {
  const { contextTokens, prices } = model;
  const price = prices === null || isFree(model) ? priceOf(model) : `${priceOf(model)} per 1M tokens`;
  return contextTokens === null ? price : `${price}, context ${formatCount(contextTokens)} tokens`;
}
