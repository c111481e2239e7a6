import { Link } from "@tanstack/react-router";
import { useId } from "react";
import type { ListedModel } from "../../api/types.ts";
import formStyles from "../../components/form.module.css";
import { formatCount } from "../../components/format.ts";
import { isFree } from "../models/model.ts";
import { ModelBox, priceOf } from "./ModelBox.tsx";

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
      <ModelBox
        label={label}
        models={models}
        value={value}
        noteId={`${id}-note`}
        isInvalid={missing !== null}
        onChange={onChange}
      />
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

function factsOf(model: ListedModel): string {
  const { contextTokens, prices } = model;
  const price = prices === null || isFree(model) ? priceOf(model) : `${priceOf(model)} per 1M tokens`;
  return contextTokens === null ? price : `${price}, context ${formatCount(contextTokens)} tokens`;
}
