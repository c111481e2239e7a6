import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import buttonStyles from "../../components/Button.module.css";
import { classes } from "../../components/classes.ts";
import { Loaded } from "../../components/Loaded.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { SearchField } from "../../components/SearchField.tsx";
import { CatalogModels } from "./catalog/CatalogModels.tsx";
import { CatalogUpstreams } from "./catalog/CatalogUpstreams.tsx";
import { selectModels, selectUpstreams } from "./catalog/select-catalog.ts";
import { readCatalogSearch } from "./search.ts";

/** The current catalog. */
export function CatalogPage() {
  const { search = "" } = useSearch({ from: "/shell/operator/operator/catalog" });
  const navigate = useNavigate({ from: "/operator/catalog" });
  const catalog = useQuery(api.operator.catalog.queryOptions());
  return (
    <>
      <PageHead title="Catalog" lead="Models and upstreams that the service has loaded.">
        <Link to="/operator/connect" className={classes(buttonStyles.button, buttonStyles.buttonPrimary)}>
          Connect a provider
        </Link>
      </PageHead>
      <SearchField
        label="Search"
        placeholder="Model, alias, owner or upstream"
        value={search}
        onSearch={(text) => void navigate({ search: readCatalogSearch({ search: text }), replace: true })}
        waitMs={0}
      />
      <Loaded query={catalog} what="the catalog">
        {({ models, upstreams }) => {
          const shown = selectModels(models, search);
          const shownUpstreams = selectUpstreams(upstreams, search);
          return (
            <>
              <CatalogModels models={shown} of={models.length} />
              <CatalogUpstreams upstreams={shownUpstreams} of={upstreams.length} models={models} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}
