import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { ListedKey, ListedModel } from "../../api/types.ts";
import { Loaded } from "../../components/Loaded.tsx";
import panelStyles from "../../components/Panel.module.css";
import { Segmented } from "../../components/Segmented.tsx";
import { Spinner } from "../../components/Spinner.tsx";
import { keyVariable, type SnippetService } from "../../components/snippets.ts";
import textStyles from "../../components/text.module.css";
import { KeyStep } from "../connect/KeyStep.tsx";
import { NoChatModel } from "../connect/NoChatModel.tsx";
import { SetupSteps } from "../connect/SetupSteps.tsx";
import { isFirstSetup, type SetupId } from "../connect/setup-ids.ts";
import { setupsFor } from "../connect/setups.ts";
import type { NewKey } from "../connect/use-new-key.ts";
import { firstChatModelOf } from "../models/model.ts";
import styles from "./GettingStarted.module.css";

interface GettingStartedProps {
  readonly keys: readonly ListedKey[];
  readonly newKey: NewKey;
  /** Whether the first request has arrived. The steps stay while a key must still be stored. */
  readonly hasBegun: boolean;
  /** Whether the account is suspended, so that no request can arrive. */
  readonly isSuspended: boolean;
}

/** The steps to the first request. After it, the page changes into the overview by itself. */
export function GettingStarted({ keys, newKey, hasBegun, isSuspended }: GettingStartedProps) {
  const info = useQuery(api.service.info.queryOptions());
  const models = useQuery(api.models.list.queryOptions());
  return (
    <section className={panelStyles.panel} aria-labelledby="getting-started">
      <h2 id="getting-started">Send your first request</h2>
      <ol className={styles.firstSteps}>
        <li>
          <h3>Create a key</h3>
          <KeyStep newKey={newKey} keys={keys} />
        </li>
        <li>
          <h3>Send a request</h3>
          <Loaded query={info} what="the service">
            {(service) => (
              <Loaded query={models} what="models">
                {({ models }) => (
                  <FirstRequest service={service} models={models} keyString={newKey.created?.key ?? null} />
                )}
              </Loaded>
            )}
          </Loaded>
        </li>
      </ol>
      <p className={styles.firstWaiting} role="status">
        {hasBegun ? (
          "Your first request has arrived. Store the key to continue."
        ) : isSuspended ? (
          "Requests are refused until the account is reinstated."
        ) : (
          <>
            <Spinner /> Waiting for the first request…
          </>
        )}
      </p>
    </section>
  );
}

interface FirstRequestProps {
  readonly service: SnippetService;
  readonly models: readonly ListedModel[];
  readonly keyString: string | null;
}

function FirstRequest({ service, models, keyString }: FirstRequestProps) {
  const [chosen, setChosen] = useState<SetupId>("curl");
  const model = firstChatModelOf(models);
  if (model === undefined) return <NoChatModel />;
  const setups = setupsFor(service, model.id, keyString).filter(({ id }) => isFirstSetup(id));
  const setup = setups.find(({ id }) => id === chosen);
  return (
    <div className={styles.request}>
      {keyString === null ? (
        <p className={textStyles.quiet}>
          Set <code>{keyVariable(service.serviceName)}</code> to your key first.
        </p>
      ) : null}
      <Segmented
        label="Client"
        value={chosen}
        options={setups.map(({ id, label, shortLabel }) => ({ value: id, label: shortLabel ?? label }))}
        onChange={setChosen}
      />
      {/* curl has a command for each format; the first one is enough here. */}
      <SetupSteps steps={chosen === "curl" ? (setup?.steps.slice(0, 1) ?? []) : (setup?.steps ?? [])} />
      <p className={textStyles.quiet}>
        <Link to="/connect">All clients</Link>
      </p>
    </div>
  );
}
