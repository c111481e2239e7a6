import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { Code } from "../../../components/Code.tsx";
import { CopyButton } from "../../../components/CopyButton.tsx";
import { Field } from "../../../components/Field.tsx";
import { formatCount, formatCounted } from "../../../components/format.ts";
import { Loaded } from "../../../components/Loaded.tsx";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import styles from "./ProviderModels.module.css";
import type { Provider } from "./providers.ts";

interface ProviderModelsProps {
  readonly provider: Provider;
  readonly baseUrl: string;
  /** What the provider lists. */
  readonly models: readonly string[];
}

/** The number of models to show; the search finds the others. */
const SHOWN = 50;
const MAX_CHOSEN = 100;

/** Chooses models of a provider that accepted its credential, and shows their catalog file. */
export function ProviderModels({ provider, baseUrl, models }: ProviderModelsProps) {
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const found = models.filter((model) => model.toLowerCase().includes(search.trim().toLowerCase()));
  const toggle = (model: string) =>
    setChosen(chosen.includes(model) ? chosen.filter((one) => one !== model) : [...chosen, model]);
  return (
    <>
      <section className={panelStyles.panel} aria-labelledby="choose">
        <h2 id="choose">2. Choose models</h2>
        <p role="status">
          The provider accepts the credential and lists {formatCounted(models.length, "model")}.{" "}
          {chosen.length} chosen.
        </p>
        <Field label="Filter" value={search} onChange={(event) => setSearch(event.target.value)} />
        <ul className={styles.models}>
          {found.slice(0, SHOWN).map((model) => (
            <li key={model}>
              <label>
                <input
                  type="checkbox"
                  checked={chosen.includes(model)}
                  disabled={chosen.length >= MAX_CHOSEN && !chosen.includes(model)}
                  onChange={() => toggle(model)}
                />
                <code>{model}</code>
              </label>
            </li>
          ))}
        </ul>
        {found.length > SHOWN ? (
          <p className={textStyles.small}>
            {formatCount(found.length - SHOWN)} more. Use the filter to find them.
          </p>
        ) : null}
      </section>
      {chosen.length === 0 ? null : <CatalogFile provider={provider} baseUrl={baseUrl} models={chosen} />}
    </>
  );
}

function CatalogFile({ provider, baseUrl, models }: ProviderModelsProps) {
  const { name, dialect, credentialEnv } = provider;
  const file = useQuery(
    api.operator.providers.catalog.queryOptions({
      name,
      dialect,
      baseUrl,
      credentialEnv,
      models: [...models],
    }),
  );
  const settings = [
    ...(credentialEnv === null ? [] : [`${credentialEnv}=…`]),
    "OSTIARY_CATALOG=/etc/ostiary/catalog.yaml",
  ].join("\n");
  return (
    <section className={panelStyles.panel} aria-labelledby="file">
      <h2 id="file">3. Add it to the catalog</h2>
      <Loaded query={file} what="the catalog file">
        {({ yaml }) => (
          <>
            <div className={panelStyles.panelHead}>
              <p>Save as catalog.yaml, or add both parts to your present file:</p>
              <CopyButton text={yaml} what="catalog file" short />
            </div>
            <Code label="Catalog file">{yaml}</Code>
          </>
        )}
      </Loaded>
      <div className={panelStyles.panelHead}>
        <p>Set in the environment of the service:</p>
        <CopyButton text={settings} what="settings" short />
      </div>
      <Code label="Settings">{settings}</Code>
      <p className={textStyles.quiet}>
        Start the service again to apply new environment variables. If only the file changes, the service
        reloads it within seconds, or at once on SIGHUP. Models without prices are free for all accounts.
      </p>
    </section>
  );
}
