import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { client } from "../../../api/client.ts";
import { errorTextAt, errorTextBeside, loadErrorTextOf } from "../../../api/errors.ts";
import { Button } from "../../../components/Button.tsx";
import { classes } from "../../../components/classes.ts";
import { Field } from "../../../components/Field.tsx";
import formStyles from "../../../components/form.module.css";
import { FormError } from "../../../components/Notice.tsx";
import panelStyles from "../../../components/Panel.module.css";
import { PasswordField } from "../../../components/PasswordField.tsx";
import { useKept } from "../../../components/use-kept-draft.ts";
import { ProviderModels } from "./ProviderModels.tsx";
import type { Provider } from "./providers.ts";

interface Checked {
  readonly baseUrl: string;
  readonly models: readonly string[];
  readonly problem: string | null;
}

/** Checks a provider's credential by a real request. The credential stays in the field until it is accepted. */
export function ProviderForm({ provider }: { readonly provider: Provider }) {
  const [baseUrl, setBaseUrl] = useKept(`of the base URL of ${provider.name}`, provider.baseUrl);
  const [credential, setCredential] = useState("");
  const [checked, setChecked] = useState<Checked | null>(null);
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      setChecked(null);
      const input = { dialect: provider.dialect, baseUrl, credential: credential === "" ? null : credential };
      const { models, problem } = await client.operator.providers.check.mutate(input);
      setChecked({ baseUrl, models, problem });
      // It is not needed any more.
      if (problem === null) setCredential("");
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    mutate();
  };
  const formError =
    errorTextBeside(error, ["baseUrl", "credential"], loadErrorTextOf) ?? checked?.problem ?? null;
  return (
    <>
      <section className={panelStyles.panel} aria-labelledby="check">
        <h2 id="check">1. Check the credential</h2>
        <form onSubmit={submit} className={classes(formStyles.form, formStyles.medium)}>
          <Field
            label="Base URL"
            required
            spellCheck={false}
            autoComplete="off"
            // Until the parts in angle brackets are replaced.
            pattern="[^<>]*"
            value={baseUrl}
            hint={
              provider.baseUrl.includes("<")
                ? "Replace the part in angle brackets."
                : "The address up to the version."
            }
            error={errorTextAt(error, "baseUrl")}
            onChange={(event) => setBaseUrl(event.target.value.trim())}
          />
          <PasswordField
            label="Credential"
            autoComplete="off"
            required={provider.credentialEnv !== null}
            hint="Sent to the provider once, to list its models. Not stored."
            value={credential}
            error={errorTextAt(error, "credential")}
            onChange={(event) => setCredential(event.target.value.trim())}
          />
          <FormError text={formError} />
          <div>
            <Button type="submit" look="primary" busy={isPending}>
              Check credential
            </Button>
          </div>
        </form>
      </section>
      {checked === null || checked.problem !== null ? null : (
        <ProviderModels provider={provider} baseUrl={checked.baseUrl} models={checked.models} />
      )}
    </>
  );
}
