import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { ListedModel } from "../../api/types.ts";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import { Select } from "../../components/Select.tsx";
import { keyVariable, type SnippetService } from "../../components/snippets.ts";
import textStyles from "../../components/text.module.css";
import { chats, firstChatModelOf } from "../models/model.ts";
import styles from "./Connect.module.css";
import { KeyStep } from "./KeyStep.tsx";
import { connectKeysQuery } from "./keys-query.ts";
import { NoChatModel } from "./NoChatModel.tsx";
import { SetupSteps } from "./SetupSteps.tsx";
import type { ConnectSearch } from "./search.ts";
import { setupsFor } from "./setups.ts";
import { type NewKey, useNewKey } from "./use-new-key.ts";

/** How to use the service with the clients that people have. */
export function Connect() {
  const info = useQuery(api.service.info.queryOptions());
  const list = useQuery(api.models.list.queryOptions());
  const keys = useQuery(connectKeysQuery());
  const newKey = useNewKey();
  return (
    <>
      <PageHead title="Quickstart" lead="One API key works with all of these clients and every model." />
      <section className={panelStyles.panel} aria-labelledby="key">
        <h2 id="key">API key</h2>
        <Loaded query={keys} what="keys">
          {({ keys }) => <KeyStep newKey={newKey} keys={keys} />}
        </Loaded>
      </section>
      <Loaded query={list} what="models">
        {({ models }) => (
          <Loaded query={info} what="the service">
            {(service) => <Setups service={service} models={models.filter(chats)} newKey={newKey} />}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}

interface SetupsProps {
  readonly service: SnippetService;
  readonly models: readonly ListedModel[];
  readonly newKey: NewKey;
}

function Setups({ service, models, newKey }: SetupsProps) {
  const { client = "curl", model: asked } = useSearch({ from: "/shell/account/connect" });
  const navigate = useNavigate({ from: "/connect" });
  const model = models.find(({ id }) => id === asked) ?? firstChatModelOf(models);
  if (model === undefined) return <NoChatModel />;
  const show = (change: ConnectSearch) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false });
  const key = newKey.created?.key ?? null;
  const setups = setupsFor(service, model.id, key);
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
      {setup === undefined ? null : (
        <section className={panelStyles.panel} aria-labelledby="setup">
          <h2 id="setup">{setup.label}</h2>
          <p className={textStyles.quiet}>
            Uses {setup.speaks}.{" "}
            {key === null ? (
              <>
                Set <code>{keyVariable(service.serviceName)}</code> to your key first.
              </>
            ) : null}
          </p>
          <SetupSteps steps={setup.steps} />
          <LearnMore about="clients" />
        </section>
      )}
    </>
  );
}
