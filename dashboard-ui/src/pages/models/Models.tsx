import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { ListedModel } from "../../api/types.ts";
import { formatCount, formatCounted } from "../../components/format.ts";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { Empty } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { SearchField } from "../../components/SearchField.tsx";
import { Select } from "../../components/Select.tsx";
import textStyles from "../../components/text.module.css";
import styles from "./Models.module.css";
import { ModelTable } from "./ModelTable.tsx";
import { matches } from "./model.ts";
import { type ModelsSearch, SORTS } from "./search.ts";
import { sortModels } from "./sort-models.ts";

const SORT_OPTIONS = [
  { value: "id", label: "ID" },
  { value: "context", label: "Context, longest first" },
  { value: "price", label: "Price, lowest first" },
];

/** The catalog, with each model's abilities and prices. */
export function Models() {
  const list = useQuery(api.models.list.queryOptions());
  return (
    <>
      <PageHead
        title="Models"
        lead={
          <>
            Every API key works with every model, over Chat Completions, the Responses API and the Messages
            API. <Link to="/connect">Connect a client</Link>. Prices are in US dollars.
          </>
        }
      />
      <Loaded query={list} what="models">
        {({ models }) =>
          models.length === 0 ? (
            <Empty title="The catalog is empty" art="models">
              <p>The operator of the service configures the models.</p>
              <LearnMore about="models" />
            </Empty>
          ) : (
            <Catalog models={models} />
          )
        }
      </Loaded>
    </>
  );
}

function Catalog({ models }: { readonly models: readonly ListedModel[] }) {
  const { search = "", sort = "id" } = useSearch({ from: "/shell/account/models" });
  const navigate = useNavigate({ from: "/models" });
  const shown = sortModels(
    models.filter((model) => matches(model, search)),
    sort,
  );
  const show = (change: ModelsSearch) =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false });

  return (
    <>
      <div className={styles.modelTools}>
        <SearchField
          label="Search"
          placeholder="ID, alias, owner or modality"
          value={search}
          // The search sends no request.
          waitMs={0}
          onSearch={(text) => void show({ search: text === "" ? undefined : text })}
        />
        <Select
          label="Sort by"
          value={sort}
          options={SORT_OPTIONS}
          onChange={({ target }) => void show({ sort: SORTS.find((one) => one === target.value) })}
        />
        <p className={textStyles.quiet} role="status">
          {shown.length === models.length
            ? formatCounted(models.length, "model")
            : `${formatCount(shown.length)} of ${formatCount(models.length)} models`}
        </p>
      </div>
      {shown.length === 0 ? (
        <Empty title={`No model matches “${search}”`} art="search">
          <p>Search by ID, alias, owner or modality.</p>
        </Empty>
      ) : (
        <ModelTable models={shown} />
      )}
    </>
  );
}
