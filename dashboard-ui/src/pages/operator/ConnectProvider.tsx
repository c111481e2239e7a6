import { Link } from "@tanstack/react-router";
import { classes } from "../../components/classes.ts";
import formStyles from "../../components/form.module.css";
import { PageHead } from "../../components/PageHead.tsx";
import { Select } from "../../components/Select.tsx";
import { useKept } from "../../components/use-kept-draft.ts";
import { ProviderForm } from "./connect-provider/ProviderForm.tsx";
import { PROVIDERS } from "./connect-provider/providers.ts";

/** Writes the catalog file of a provider, after its credential was checked. */
export function ConnectProvider() {
  const [chosen, setChosen] = useKept("of the provider to connect", PROVIDERS[0]?.name ?? "");
  const provider = PROVIDERS.find(({ name }) => name === chosen);
  return (
    <>
      <PageHead
        crumb={<Link to="/operator/catalog">Catalog</Link>}
        title="Connect a provider"
        lead="Check a provider's credential, choose models, and get the catalog file."
      />
      <div className={classes(formStyles.form, formStyles.narrow)}>
        <Select
          label="Provider"
          value={chosen}
          options={PROVIDERS.map(({ name, label }) => ({ value: name, label }))}
          onChange={({ target }) => setChosen(target.value)}
        />
      </div>
      {provider === undefined ? null : <ProviderForm key={provider.name} provider={provider} />}
    </>
  );
}
