import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { CatalogModel } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { type Column, DataTable, NoRows } from "../../../components/DataTable.tsx";
import { formatCount, formatShare, formatUsd } from "../../../components/format.ts";
import pagedStyles from "../../../components/Paged.module.css";
import panelStyles from "../../../components/Panel.module.css";
import { SlashedText } from "../../../components/SlashedText.tsx";
import { specialPrices } from "../../../components/special-prices.tsx";
import textStyles from "../../../components/text.module.css";
import consoleStyles from "../console.module.css";
import { focusPage } from "../focus.ts";
import catalogStyles from "./catalog.module.css";

interface CatalogModelsProps {
  /** The models that match the search. */
  readonly models: readonly CatalogModel[];
  /** The number of all models. */
  readonly of: number;
}

/** The number of models to show at first. A catalog may have thousands. */
const SHOWN = 100;

const COLUMNS: readonly Column<CatalogModel>[] = [
  { label: "Model", kind: "name", cell: (model) => <ModelName model={model} /> },
  { label: "Routes", cell: (model) => <Routes model={model} /> },
  { label: "Limits", kind: "number", cell: (model) => <Limits model={model} /> },
  { label: "Price per 1M tokens", kind: "number", cell: ({ prices }) => <Prices prices={prices} /> },
];

/** Models with their routes and prices. */
export function CatalogModels({ models, of }: CatalogModelsProps) {
  const [maxShown, setMaxShown] = useState(SHOWN);
  const shown = models.slice(0, maxShown);
  const showMore = () => {
    setMaxShown(maxShown + 10 * SHOWN);
    if (models.length <= maxShown + 10 * SHOWN) focusPage();
  };
  return (
    <section className={consoleStyles.consolePart} aria-labelledby="models">
      <div className={panelStyles.panelHead}>
        <h2 id="models">Models</h2>
        <p className={textStyles.quiet} role="status">
          {models.length === of ? formatCount(of) : `${formatCount(models.length)} of ${formatCount(of)}`}
        </p>
      </div>
      {models.length === 0 ? (
        <NoRows>
          {of === 0 ? (
            <>
              The catalog has no models. <Link to="/operator/connect">Connect a provider</Link>
            </>
          ) : (
            "No model matches."
          )}
        </NoRows>
      ) : (
        <DataTable
          caption="Models with their routes"
          className={catalogStyles.catalogTable}
          columns={COLUMNS}
          rows={shown}
          rowKey={({ id }) => id}
          details={({ prices }) => specialPrices(prices)}
        />
      )}
      {models.length > shown.length ? (
        <div className={pagedStyles.more}>
          <Button onClick={showMore}>Show more models</Button>
        </div>
      ) : null}
    </section>
  );
}

function ModelName({ model }: { readonly model: CatalogModel }) {
  const { id, ownedBy, modalities, aliases } = model;
  return (
    <span className={textStyles.pair}>
      <code className={catalogStyles.modelName}>
        <SlashedText>{id}</SlashedText>
      </code>
      <span className={textStyles.small}>
        {ownedBy === "unknown" ? "" : `by ${ownedBy} · `}
        {modalities.input.join(", ")} to {modalities.output.join(", ")}
        {aliases.length === 0 ? "" : ` · also ${aliases.join(", ")}`}
      </span>
    </span>
  );
}

function Limits({ model: { contextTokens, maxOutputTokens } }: { readonly model: CatalogModel }) {
  if (contextTokens === null && maxOutputTokens === null)
    return <span className={textStyles.quiet}>unknown</span>;
  return (
    <span className={textStyles.pair}>
      <span>{tokensOf(contextTokens)} context</span>
      <span className={textStyles.small}>{tokensOf(maxOutputTokens)} output</span>
    </span>
  );
}

function Routes({ model }: { readonly model: CatalogModel }) {
  const total = model.routes.reduce((sum, { weight }) => sum + weight, 0);
  return (
    <ul className={catalogStyles.modelRoutes}>
      {model.routes.map((route) => (
        <li key={`${route.upstream} ${route.model}`}>
          <span>
            {route.upstream}
            {route.model === model.id ? null : (
              <>
                {" as "}
                <code>{route.model}</code>
              </>
            )}
          </span>
          {model.routes.length === 1 ? null : (
            <span className={textStyles.small}>
              {total === 0 ? "weight 0" : `${formatShare(route.weight / total)}, weight ${route.weight}`}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function tokensOf(count: number | null): string {
  return count === null ? "unknown" : formatCount(count);
}

function Prices({ prices }: Pick<CatalogModel, "prices">) {
  if (prices === null) return <span className={textStyles.quiet}>Free</span>;
  return (
    <span className={textStyles.pair}>
      <span>
        {formatUsd(prices.inputNanoUsdPerMTok)} in, {formatUsd(prices.outputNanoUsdPerMTok)} out
      </span>
      <span className={textStyles.small}>
        {formatUsd(prices.cachedInputNanoUsdPerMTok)} cached
        {prices.imageNanoUsd === 0n ? "" : `, ${formatUsd(prices.imageNanoUsd)} per image`}
      </span>
    </span>
  );
}
