import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { ListedModel } from "../../api/types.ts";
import { Answer } from "../../components/Answer.tsx";
import { Empty } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { Select } from "../../components/Select.tsx";
import { keyVariable, type SnippetService } from "../../components/snippets.ts";
import textStyles from "../../components/text.module.css";
import styles from "./Connect.module.css";
import { SetupSteps } from "./SetupSteps.tsx";
import type { ConnectSearch } from "./search.ts";
import { setupsFor } from "./setups.ts";

/** How to use the service with the clients that people have. */
export function Connect() {
  const info = useQuery(api.service.info.queryOptions());
  const list = useQuery(api.models.list.queryOptions());
  return (
    <>
      <PageHead
        title="Connect a client"
        lead="One API key opens every model to all of these clients, whichever format they speak."
      />
      <Answer query={list} what="models">
        {({ models }) => (
          <Answer query={info} what="the service">
            {(service) => <Setups service={service} models={models.filter(isChatModel)} />}
          </Answer>
        )}
      </Answer>
    </>
  );
}

function isChatModel({ modalities }: ListedModel): boolean {
  return modalities.output.includes("text");
}

interface SetupsProps {
  readonly service: SnippetService;
  readonly models: readonly ListedModel[];
}

function Setups({ service, models }: SetupsProps) {
  const { client = "curl", model: asked } = useSearch({ from: "/shell/account/connect" });
  const navigate = useNavigate({ from: "/connect" });
  const model = models.find(({ id }) => id === asked) ?? models[0];
  if (model === undefined) {
    return (
      <Empty title="The catalog has no chat model">
        <p>The operator of the service configures the models.</p>
      </Empty>
    );
  }
  const show = (change: ConnectSearch) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false });
  const setups = setupsFor(service, model.id);
  const setup = setups.find(({ id }) => id === client) ?? setups[0];
  return (
    <>
      <div className={styles.choices}>
        <Select
          label="Client"
          value={setup?.id}
          options={setups.map(({ id, label }) => ({ value: id, label }))}
          onChange={({ target }) => show({ client: setups.find(({ id }) => id === target.value)?.id })}
        />
        <Select
          label="Model"
          value={model.id}
          options={models.map(({ id }) => ({ value: id, label: id }))}
          onChange={({ target }) => show({ model: target.value })}
        />
      </div>
      <p className={textStyles.quiet}>
        Set <code>{keyVariable(service.serviceName)}</code> to one of your{" "}
        <Link to="/settings/keys">API keys</Link> first. The code reads the key from there.
      </p>
      {setup === undefined ? null : <SetupSteps setup={setup} />}
    </>
  );
}
