import { Link } from "@tanstack/react-router";
import type { ListedModel } from "../../api/types.ts";
import { formatCount, formatUsd } from "../../components/format.ts";
import { SearchSelect } from "../../components/SearchSelect.tsx";
import { isFree, matches } from "../models/model.ts";

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
  return (
    <SearchSelect
      label={label}
      searchLabel="Search models"
      searchPlaceholder="ID, alias, owner or modality"
      text={value?.id ?? null}
      placeholder="Choose a model"
      value={value?.id ?? ""}
      hint={value === null ? undefined : factsOf(value)}
      error={
        missing === null ? undefined : (
          <>
            The catalog has no chat model “{missing}”. Choose another one, or see{" "}
            <Link to="/models">all models</Link>.
          </>
        )
      }
      optionsFor={(search) =>
        models
          .filter((model) => matches(model, search))
          .map((model) => ({ value: model.id, label: model.id, note: priceOf(model) }))
      }
      onChoose={(id) => {
        const model = models.find((each) => each.id === id);
        if (model !== undefined) onChange(model);
      }}
    />
  );
}

function priceOf(model: ListedModel): string {
  const { prices } = model;
  if (prices === null || isFree(model)) return "Free";
  return `${formatUsd(prices.inputNanoUsdPerMTok)} in, ${formatUsd(prices.outputNanoUsdPerMTok)} out`;
}

function factsOf(model: ListedModel): string {
  const { contextTokens, prices } = model;
  const price = prices === null || isFree(model) ? priceOf(model) : `${priceOf(model)} per 1M tokens`;
  return contextTokens === null ? price : `${price}, context ${formatCount(contextTokens)} tokens`;
}
