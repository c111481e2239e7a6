import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { ListedModel } from "../../api/types.ts";
import buttonStyles from "../../components/Button.module.css";
import { Code } from "../../components/Code.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import panelStyles from "../../components/Panel.module.css";
import snippetsStyles from "../../components/Snippets.module.css";
import { Snippets } from "../../components/Snippets.tsx";
import { keyVariable, type SnippetService } from "../../components/snippets.ts";
import textStyles from "../../components/text.module.css";
import { firstChatModelOf } from "../models/model.ts";

/** How an application uses the key, whose string only its owner has. */
export function UseKey() {
  const info = useQuery(api.service.info.queryOptions());
  const list = useQuery(api.models.list.queryOptions());
  return (
    <section className={panelStyles.panel} aria-labelledby="use">
      <div className={panelStyles.panelHead}>
        <h2 id="use">Use this key</h2>
        <Link className={buttonStyles.button} to="/connect">
          All clients
        </Link>
      </div>
      <p className={textStyles.quiet}>
        Clients read the key from the environment. Replace <code>sk-…</code> with the key string, which was
        shown once. If you lost it, rotate the key.
      </p>
      <Loaded query={info} what="the service">
        {(service) => (
          <>
            <Assignment serviceName={service.serviceName} />
            <Loaded query={list} what="models">
              {({ models }) => <Example service={service} models={models} />}
            </Loaded>
          </>
        )}
      </Loaded>
    </section>
  );
}

function Assignment({ serviceName }: { readonly serviceName: string }) {
  const assignment = `export ${keyVariable(serviceName)}=sk-…`;
  return (
    <div className={snippetsStyles.command}>
      <Code label="Environment" language="bash">
        {assignment}
      </Code>
      <CopyButton text={assignment} what="line" short />
    </div>
  );
}

interface ExampleProps {
  readonly service: SnippetService;
  readonly models: readonly ListedModel[];
}

function Example({ service, models }: ExampleProps) {
  const model = firstChatModelOf(models);
  if (model === undefined) return null;
  return (
    <Snippets
      service={service}
      request={{ model: model.id, messages: [{ role: "user", content: "Hello!" }] }}
    />
  );
}
