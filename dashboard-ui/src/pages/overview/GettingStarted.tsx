import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import type { ListedKey, ListedModel } from "../../api/types.ts";
import { Answer } from "../../components/Answer.tsx";
import buttonStyles from "../../components/Button.module.css";
import { Code } from "../../components/Code.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { classes } from "../../components/classes.ts";
import panelStyles from "../../components/Panel.module.css";
import { Snippets } from "../../components/Snippets.tsx";
import { Spinner } from "../../components/Spinner.tsx";
import { keyVariable, type SnippetService } from "../../components/snippets.ts";
import textStyles from "../../components/text.module.css";
import styles from "./GettingStarted.module.css";

/** The steps to the first request. After it, the page changes into the overview by itself. */
export function GettingStarted({ keys }: { readonly keys: readonly ListedKey[] }) {
  const { data: service } = useQuery(api.service.info.queryOptions());
  const models = useQuery(api.models.list.queryOptions());
  const key = keys.find(({ state }) => state === "active");
  return (
    <section className={panelStyles.panel} aria-labelledby="getting-started">
      <h2 id="getting-started">Send your first request</h2>
      <ol className={styles.firstSteps}>
        <li>
          <h3>Create a key</h3>
          {key === undefined ? (
            <>
              <p className={textStyles.quiet}>A key works with every model. It is shown only once.</p>
              <Link to="/settings/keys" className={classes(buttonStyles.button, buttonStyles.buttonPrimary)}>
                Create a key
              </Link>
            </>
          ) : (
            <p className={textStyles.quiet}>
              The account has the key “{key.name}” <code>…{key.keyId}</code>. If you lost it,{" "}
              <Link to="/settings/keys">create another one</Link>.
            </p>
          )}
        </li>
        {service === undefined ? null : (
          <>
            <li>
              <h3>Set the environment variable</h3>
              <Environment variable={keyVariable(service.serviceName)} />
            </li>
            <li>
              <h3>Send a request</h3>
              <Answer query={models} what="models">
                {({ models }) => <FirstRequest service={service} models={models} />}
              </Answer>
            </li>
          </>
        )}
      </ol>
      <p className={styles.firstWaiting} role="status">
        <Spinner /> Waiting for the first request…
      </p>
    </section>
  );
}

interface FirstRequestProps {
  readonly service: SnippetService;
  readonly models: readonly ListedModel[];
}

function FirstRequest({ service, models }: FirstRequestProps) {
  const model = models.find(({ modalities }) => modalities.output.includes("text"));
  if (model === undefined) return <p className={textStyles.quiet}>The catalog has no chat model yet.</p>;
  const messages = [{ role: "user", content: "Hello!" }];
  return <Snippets service={service} request={{ model: model.id, messages }} />;
}

function Environment({ variable }: { readonly variable: string }) {
  const command = `export ${variable}="sk-…"`;
  return (
    <>
      <p className={textStyles.quiet}>
        Replace <code>sk-…</code> with your key.
      </p>
      <div className={styles.firstCommand}>
        <Code label="Command">{command}</Code>
        <CopyButton text={command} what="command" />
      </div>
    </>
  );
}
