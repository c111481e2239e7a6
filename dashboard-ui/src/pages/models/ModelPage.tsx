import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { ListedModel } from "../../api/types.ts";
import { Below } from "../../components/Below.tsx";
import buttonStyles from "../../components/Button.module.css";
import { Loaded } from "../../components/Loaded.tsx";
import { Empty } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import { Snippets } from "../../components/Snippets.tsx";
import { AccountUsage } from "../overview/AccountUsage.tsx";
import { ModelTable } from "./ModelTable.tsx";
import { chats, embeds } from "./model.ts";

/** Models → a model: its prices and limits, how to call it, and what it is used for. */
export function ModelPage() {
  const { model: id } = useParams({ from: "/shell/account/models/$model" });
  const search = useSearch({ from: "/shell/account/models/$model" });
  const models = useQuery(api.models.list.queryOptions());
  const info = useQuery(api.service.info.queryOptions());
  return (
    <>
      <PageHead crumb={<Link to="/models">Models</Link>} title={id}>
        <Link className={buttonStyles.button} to="/audit" search={{ model: id }}>
          View requests
        </Link>
      </PageHead>
      <Loaded query={models} what="the model">
        {({ models }) => {
          const model = models.find((each) => each.id === id);
          if (model === undefined) {
            return (
              <Empty title="Model not found">
                <p>The catalog has no model of this name now. Its usage is kept.</p>
              </Empty>
            );
          }
          return (
            <>
              <ModelTable models={[model]} isOwnPage />
              <CallModel model={model} />
            </>
          );
        }}
      </Loaded>
      <Below queries={[models, info]}>
        <AccountUsage search={search} filter={{ model: id }} />
      </Below>
    </>
  );
}

interface CallModelProps {
  readonly model: ListedModel;
}

/** Code that calls the model, and the way to the clients that people have. */
function CallModel({ model }: CallModelProps) {
  const { id } = model;
  const info = useQuery(api.service.info.queryOptions());
  if (!chats(model) && !embeds(model)) return null;
  return (
    <section className={panelStyles.panel} aria-labelledby="call">
      <div className={panelStyles.panelHead}>
        <h2 id="call">Call this model</h2>
        {chats(model) ? (
          <Link className={buttonStyles.button} to="/connect" search={{ model: id }}>
            All clients
          </Link>
        ) : null}
      </div>
      <Loaded query={info} what="the service">
        {(service) => (
          <Snippets
            service={service}
            request={
              chats(model)
                ? { model: id, messages: [{ role: "user", content: "Hello!" }] }
                : { model: id, input: ["The door is open.", "Who opened it?"] }
            }
          />
        )}
      </Loaded>
    </section>
  );
}
