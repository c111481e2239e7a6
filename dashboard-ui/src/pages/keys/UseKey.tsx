import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import buttonStyles from "../../components/Button.module.css";
import { Code } from "../../components/Code.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import panelStyles from "../../components/Panel.module.css";
import snippetsStyles from "../../components/Snippets.module.css";
import { Snippets } from "../../components/Snippets.tsx";
import { keyVariable } from "../../components/snippets.ts";
import textStyles from "../../components/text.module.css";
import { chats } from "../models/model.ts";

/** How an application uses the key, whose string only its owner has. */
export function UseKey() {
  const { data: service } = useQuery(api.service.info.queryOptions());
  const { data: list } = useQuery(api.models.list.queryOptions());
  const model = list?.models.find(chats);
  if (service === undefined) return null;
  const assignment = `export ${keyVariable(service.serviceName)}=sk-…`;
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
      <div className={snippetsStyles.command}>
        <Code label="Environment" language="bash">
          {assignment}
        </Code>
        <CopyButton text={assignment} what="line" short />
      </div>
      {model === undefined ? null : (
        <Snippets
          service={service}
          request={{ model: model.id, messages: [{ role: "user", content: "Hello!" }] }}
        />
      )}
    </section>
  );
}
