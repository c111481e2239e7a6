import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ListedModel } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import buttonStyles from "../../components/Button.module.css";
import { Button } from "../../components/Button.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatCount, formatUsd } from "../../components/format.ts";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import { ProviderMark } from "../../components/ProviderMark.tsx";
import { SlashedText } from "../../components/SlashedText.tsx";
import { specialPrices } from "../../components/special-prices.tsx";
import textStyles from "../../components/text.module.css";
import styles from "./ModelTable.module.css";
import { chats, embeds, isFree, mediaOf, ownerOf, usesOf } from "./model.ts";

const embeddingExample = lazyCode(async () => (await import("./EmbeddingExample.tsx")).EmbeddingExample);

interface ModelTableProps {
  readonly models: readonly ListedModel[];
  /** Whether the page is that of the only model, so that its name leads nowhere. */
  readonly isOwnPage?: boolean;
}

/** Models with their limits and prices. */
export function ModelTable({ models, isOwnPage = false }: ModelTableProps) {
  const [example, setExample] = useState<ListedModel | null>(null);
  // The column is shown only if needed: few catalogs charge for images, and space is limited.
  const hasImagePrices = models.some(({ prices }) => prices !== null && prices.imageNanoUsd > 0n);
  return (
    <>
      <DataTable
        caption="Models of the catalog"
        className={styles.models}
        columns={[
          {
            label: "Model",
            kind: "name",
            cell: (model) => <ModelName model={model} isLink={!isOwnPage} />,
          },
          ...FACTS,
          ...PRICES.filter(({ label }) => hasImagePrices || label !== "Per image"),
          {
            label: "Actions",
            isLabelHidden: true,
            kind: "actions",
            cell: (model) => <Action model={model} showExample={setExample} />,
          },
        ]}
        rows={models}
        rowKey={({ id }) => id}
        details={({ prices }) => specialPrices(prices)}
      />
      {example === null ? null : (
        <LazyDialog code={embeddingExample} props={{ model: example, onClose: () => setExample(null) }} />
      )}
    </>
  );
}

const FACTS: readonly Column<ListedModel>[] = [
  { label: "Modalities", className: styles.modalities, cell: (model) => <Modalities model={model} /> },
  {
    label: "Context",
    group: "Limits",
    kind: "number",
    cell: ({ contextTokens }) => <Tokens count={contextTokens} />,
  },
  {
    label: "Output",
    group: "Limits",
    kind: "number",
    cardLabel: "Max output",
    cell: ({ maxOutputTokens }) => <Tokens count={maxOutputTokens} />,
  },
];

const PRICE_GROUP = "Price per 1M tokens";
const PRICES: readonly Column<ListedModel>[] = [
  {
    label: "Input",
    group: PRICE_GROUP,
    kind: "number",
    cardLabel: "Input per 1M tokens",
    className: styles.firstPrice,
    cell: (model) =>
      model.prices === null || isFree(model) ? "Free" : <Price nanoUsd={model.prices.inputNanoUsdPerMTok} />,
  },
  priceColumn(
    "Cached",
    "Cached input per 1M tokens",
    PRICE_GROUP,
    (prices) => prices.cachedInputNanoUsdPerMTok,
  ),
  priceColumn("Output", "Output per 1M tokens", PRICE_GROUP, (prices) => prices.outputNanoUsdPerMTok),
  priceColumn("Per image", "Per image", undefined, (prices) => prices.imageNanoUsd),
];

function priceColumn(
  label: string,
  cardLabel: string,
  group: string | undefined,
  read: (prices: NonNullable<ListedModel["prices"]>) => bigint,
): Column<ListedModel> {
  const priceOf = ({ prices }: ListedModel) => (prices === null ? 0n : read(prices));
  return {
    label,
    cardLabel,
    ...(group === undefined ? {} : { group }),
    kind: "number",
    className: (model) => (priceOf(model) === 0n ? styles.noCharge : undefined),
    cell: (model) => <Price nanoUsd={priceOf(model)} />,
  };
}

/** The number of characters from which a price may be on two lines where space is scarce. */
const LONG_PRICE = 9;

function Price({ nanoUsd }: { readonly nanoUsd: bigint }) {
  if (nanoUsd > 0n) {
    const price = formatUsd(nanoUsd);
    if (price.length < LONG_PRICE) return price;
    const fraction = price.indexOf(".") + 1;
    return (
      <span className={styles.longPrice}>
        {price.slice(0, fraction)}
        <wbr />
        {price.slice(fraction)}
      </span>
    );
  }
  return (
    <>
      <span aria-hidden="true">–</span>
      <span className={textStyles.visuallyHidden}>no charge</span>
    </>
  );
}

function Modalities({ model }: { readonly model: ListedModel }) {
  return (
    <span className={textStyles.pair}>
      {usesOf(model).map((use) => (
        <Badge key={use}>{use}</Badge>
      ))}
      {mediaOf(model).map((media) => (
        <span key={media} className={textStyles.small}>
          {media}
        </span>
      ))}
    </span>
  );
}

interface ActionProps {
  readonly model: ListedModel;
  readonly showExample: (model: ListedModel) => void;
}

function Action({ model, showExample }: ActionProps) {
  if (chats(model)) {
    return (
      <Link to="/playground" search={{ model: model.id }} className={buttonStyles.button}>
        Try it<span className={textStyles.visuallyHidden}> with {model.id}</span>
      </Link>
    );
  }
  if (!embeds(model)) return null;
  return (
    <Button onClick={() => showExample(model)} aria-label={`Example with ${model.id}`}>
      Example
    </Button>
  );
}

function ModelName({ model, isLink }: { readonly model: ListedModel; readonly isLink: boolean }) {
  const owner = ownerOf(model);
  const id = <SlashedText>{model.id}</SlashedText>;
  const facts = model.sandbox ? ["sandbox"] : [];
  if (owner !== null && owner !== "sandbox") facts.unshift(`by ${owner}`);
  return (
    <span className={textStyles.pair}>
      <span className={styles.modelId}>
        <ProviderMark name={owner ?? model.id} />
        {isLink ? (
          <Link to="/models/$model" params={{ model: model.id }} search={{ range: "7d", by: "none" }}>
            <code>{id}</code>
          </Link>
        ) : (
          <code>{id}</code>
        )}
        <CopyButton short text={model.id} what={model.id} />
      </span>
      <span className={textStyles.small}>
        {facts.join(" · ")}
        {model.aliases.length === 0 ? null : (
          <>
            {facts.length === 0 ? "also " : " · also "}
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
  return count === null ? <span className={textStyles.quiet}>unknown</span> : formatCount(count);
}
