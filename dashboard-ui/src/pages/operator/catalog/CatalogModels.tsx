import { useState } from "react";
import type { CatalogModel } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { formatCount, formatUsd } from "../../../components/format.ts";
import { focusPage } from "../focus.ts";

interface CatalogModelsProps {
  /** Those that the search found. */
  readonly models: readonly CatalogModel[];
  /** How many there are. */
  readonly of: number;
}

/** So many are shown at first: a catalog may have thousands. */
const SHOWN = 100;

/** Models with their routes and prices. */
export function CatalogModels({ models, of }: CatalogModelsProps) {
  const [most, setMost] = useState(SHOWN);
  const shown = models.slice(0, most);
  const showMore = () => {
    setMost(most + 10 * SHOWN);
    if (models.length <= most + 10 * SHOWN) focusPage();
  };
  return (
    <section className="console-part" aria-labelledby="models">
      <div className="panel-head">
        <h2 id="models">Models</h2>
        <p className="quiet" role="status">
          {models.length === of ? formatCount(of) : `${formatCount(models.length)} of ${formatCount(of)}`}
        </p>
      </div>
      <div className="table-frame">
        {models.length === 0 ? (
          <p className="nothing">{of === 0 ? "The catalog has no models." : "No model matches."}</p>
        ) : (
          <table className="table catalog-table">
            <caption className="visually-hidden">Models with their routes</caption>
            <thead>
              <tr>
                <th scope="col">Model</th>
                <th scope="col">Routes</th>
                <th scope="col" className="number">
                  Limits
                </th>
                <th scope="col" className="number">
                  Price per 1M tokens
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((model) => (
                <Row key={model.id} model={model} />
              ))}
            </tbody>
          </table>
        )}
      </div>
      {models.length > shown.length ? (
        <div className="more">
          <Button onClick={showMore}>Show more models</Button>
        </div>
      ) : null}
    </section>
  );
}

function Row({ model }: { readonly model: CatalogModel }) {
  const { contextTokens, maxOutputTokens } = model;
  return (
    <tr>
      <th scope="row" className="name">
        <span className="pair">
          <code className="model-name">{model.id}</code>
          <span className="small">
            by {model.ownedBy} · {model.modalities.input.join(", ")} to {model.modalities.output.join(", ")}
            {model.aliases.length === 0 ? "" : ` · also ${model.aliases.join(", ")}`}
          </span>
        </span>
      </th>
      <td data-label="Routes">
        <Routes model={model} />
      </td>
      <td data-label="Limits" className="number">
        {contextTokens === null && maxOutputTokens === null ? (
          <span className="quiet">unknown</span>
        ) : (
          <span className="pair">
            <span>{tokensOf(contextTokens)} context</span>
            <span className="small">{tokensOf(maxOutputTokens)} output</span>
          </span>
        )}
      </td>
      <td data-label="Price per 1M tokens" className="number">
        <Prices prices={model.prices} />
      </td>
    </tr>
  );
}

function Routes({ model }: { readonly model: CatalogModel }) {
  const total = model.routes.reduce((sum, { weight }) => sum + weight, 0);
  return (
    <ul className="model-routes">
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
            <span className="small">
              {total === 0
                ? "weight 0"
                : `${((100 * route.weight) / total).toFixed(0)}%, weight ${route.weight}`}
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
  if (prices === null) return <span className="quiet">Free</span>;
  return (
    <span className="pair">
      <span>
        {formatUsd(prices.inputNanoUsdPerMTok)} in, {formatUsd(prices.outputNanoUsdPerMTok)} out
      </span>
      <span className="small">
        {formatUsd(prices.cachedInputNanoUsdPerMTok)} cached
        {prices.imageNanoUsd === 0n ? "" : `, ${formatUsd(prices.imageNanoUsd)} per image`}
      </span>
    </span>
  );
}
