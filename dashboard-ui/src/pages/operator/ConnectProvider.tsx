import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { classes } from "../../components/classes.ts";
import formStyles from "../../components/form.module.css";
import { PageHead } from "../../components/PageHead.tsx";
import { Select } from "../../components/Select.tsx";
import { ProviderForm } from "./connect-provider/ProviderForm.tsx";
import { PROVIDERS, type Provider } from "./connect-provider/providers.ts";

/** Writes the catalog file of a provider, after its credential was checked. */
export function ConnectProvider() {
  const [provider, setProvider] = useState<Provider | undefined>(PROVIDERS[0]);
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
          value={provider?.name}
          options={PROVIDERS.map(({ name, label }) => ({ value: name, label }))}
          onChange={({ target }) => setProvider(PROVIDERS.find(({ name }) => name === target.value))}
        />
      </div>
      {provider === undefined ? null : <ProviderForm key={provider.name} provider={provider} />}
    </>
  );
}
