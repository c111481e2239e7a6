import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { formatCount } from "../../api/format.ts";
import { matches } from "../../api/models.ts";
import type { ListedModel } from "../../api/types.ts";
import { Answer } from "../../components/Answer.tsx";
import { Empty } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { SearchField } from "../../components/SearchField.tsx";
import { Select } from "../../components/Select.tsx";
import { EmbeddingExample } from "./EmbeddingExample.tsx";
import { ModelTable } from "./ModelTable.tsx";
import { type ModelsSearch, SORTS } from "./search.ts";
import { sortModels } from "./sort-models.ts";
import "./models.css";

const SORT_OPTIONS = [
  { value: "id", label: "Id" },
  { value: "context", label: "Context, longest first" },
  { value: "price", label: "Price, lowest first" },
];

/** The catalog: what there is, what it can, what it costs. */
export function Models() {
  const list = useQuery(api.models.list.queryOptions());
  return (
    <>
      <PageHead title="Models" lead="Every key opens every one of them. Prices are in US dollars." />
      <Answer query={list} what="models">
        {({ models }) =>
          models.length === 0 ? (
            <Empty title="The catalog is empty">
              <p>The operator of the service decides which models there are.</p>
            </Empty>
          ) : (
            <Catalog models={models} />
          )
        }
      </Answer>
    </>
  );
}

function Catalog({ models }: { readonly models: readonly ListedModel[] }) {
  const { search = "", sort = "id" } = useSearch({ from: "/shell/account/models" });
  const navigate = useNavigate({ from: "/models" });
  const [example, setExample] = useState<ListedModel | null>(null);
  const shown = sortModels(
    models.filter((model) => matches(model, search)),
    sort,
  );
  const show = (change: ModelsSearch) =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false });

  return (
    <>
      <div className="model-tools">
        <SearchField
          label="Search"
          placeholder="Id, alias, owner or modality"
          value={search}
          // Nothing is asked of the service.
          waitMs={0}
          onSearch={(text) => void show({ search: text === "" ? undefined : text })}
        />
        <Select
          label="Sort by"
          value={sort}
          options={SORT_OPTIONS}
          onChange={({ target }) => void show({ sort: SORTS.find((one) => one === target.value) })}
        />
        <p className="quiet" role="status">
          {shown.length === models.length
            ? `${formatCount(models.length)} ${models.length === 1 ? "model" : "models"}`
            : `${formatCount(shown.length)} of ${formatCount(models.length)} models`}
        </p>
      </div>
      {shown.length === 0 ? (
        <Empty title={`No model matches “${search}”`}>
          <p>The search looks at ids, aliases, owners, and what models take and give.</p>
        </Empty>
      ) : (
        <ModelTable models={shown} showExample={setExample} />
      )}
      {example === null ? null : <EmbeddingExample model={example} onClose={() => setExample(null)} />}
    </>
  );
}
