import { Link } from "@tanstack/react-router";
import type { ListedModel } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { formatCount, formatUsd } from "../../components/format.ts";
import { chats, embeds, isFree, mediaOf, usesOf } from "./model.ts";

interface ModelTableProps {
  readonly models: readonly ListedModel[];
  readonly showExample: (model: ListedModel) => void;
}

/** Models with their limits and prices; on a phone, cards. */
export function ModelTable({ models, showExample }: ModelTableProps) {
  // Few catalogs charge for images, and there is little room.
  const hasImagePrices = models.some(({ prices }) => prices !== null && prices.imageNanoUsd > 0n);
  return (
    <div className="table-frame">
      <table className="table models">
        <caption className="visually-hidden">Models of the catalog</caption>
        <thead>
          <tr>
            <th scope="col" rowSpan={2}>
              Model
            </th>
            <th scope="col" rowSpan={2}>
              Modalities
            </th>
            <th scope="colgroup" colSpan={2} className="number grouping">
              Limits
            </th>
            <th scope="colgroup" colSpan={3} className="number grouping">
              Price per 1M tokens
            </th>
            {hasImagePrices ? (
              <th scope="col" rowSpan={2} className="number">
                Price per <br /> image
              </th>
            ) : null}
            <th scope="col" rowSpan={2}>
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
          <tr>
            <th scope="col" className="number">
              Context
            </th>
            <th scope="col" className="number">
              Output
            </th>
            <th scope="col" className="number">
              Input
            </th>
            <th scope="col" className="number">
              Cached
            </th>
            <th scope="col" className="number">
              Output
            </th>
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <tr key={model.id}>
              <th scope="row" className="name">
                <ModelName model={model} />
              </th>
              <td data-label="Modalities" className="modalities">
                <span className="pair">
                  {usesOf(model).map((use) => (
                    <span key={use} className="badge">
                      {use}
                    </span>
                  ))}
                  {mediaOf(model).map((media) => (
                    <span key={media} className="small">
                      {media}
                    </span>
                  ))}
                </span>
              </td>
              <td data-label="Context" className="number">
                <Tokens count={model.contextTokens} />
              </td>
              <td data-label="Max output" className="number">
                <Tokens count={model.maxOutputTokens} />
              </td>
              <Prices model={model} withImages={hasImagePrices} />
              <td className="actions">
                {chats(model) ? (
                  <Link to="/playground" search={{ model: model.id }} className="button">
                    Try it<span className="visually-hidden"> with {model.id}</span>
                  </Link>
                ) : embeds(model) ? (
                  <Button onClick={() => showExample(model)} aria-label={`Example with ${model.id}`}>
                    Example
                  </Button>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ModelName({ model }: { readonly model: ListedModel }) {
  return (
    <span className="pair">
      <span className="model-id">
        <code>{model.id}</code>
        <CopyButton short text={model.id} what={model.id} />
      </span>
      <span className="small">
        by {model.ownedBy}
        {model.sandbox ? " · sandbox" : null}
        {model.aliases.length === 0 ? null : (
          <>
            {" · also "}
            {model.aliases.map((alias, index) => (
              <span key={alias}>
                {index === 0 ? null : ", "}
                <code>{alias}</code>
              </span>
            ))}
          </>
        )}
      </span>
    </span>
  );
}

function Tokens({ count }: { readonly count: number | null }) {
  return count === null ? <span className="quiet">unknown</span> : formatCount(count);
}

interface PricesProps {
  readonly model: ListedModel;
  /** Whether there is a column for the price of an image. */
  readonly withImages: boolean;
}

function Prices({ model, withImages }: PricesProps) {
  const { prices } = model;
  if (prices === null || isFree(model)) {
    return (
      <td data-label="Price" colSpan={withImages ? 4 : 3} className="number quiet">
        Free
      </td>
    );
  }
  return (
    <>
      <Price label="Input per 1M tokens" nanoUsd={prices.inputNanoUsdPerMTok} />
      <Price label="Cached input" nanoUsd={prices.cachedInputNanoUsdPerMTok} />
      <Price label="Output" nanoUsd={prices.outputNanoUsdPerMTok} />
      {withImages ? <Price label="Per image" nanoUsd={prices.imageNanoUsd} /> : null}
    </>
  );
}

function Price({ label, nanoUsd }: { readonly label: string; readonly nanoUsd: bigint }) {
  return (
    <td data-label={label} className={nanoUsd === 0n ? "number no-charge" : "number"}>
      {nanoUsd === 0n ? (
        <>
          <span aria-hidden="true">–</span>
          <span className="visually-hidden">nothing</span>
        </>
      ) : (
        formatUsd(nanoUsd)
      )}
    </td>
  );
}
