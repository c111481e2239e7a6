import { useState } from "react";
import { Code } from "./Code.tsx";
import { CopyButton } from "./CopyButton.tsx";
import formStyles from "./form.module.css";
import panelStyles from "./Panel.module.css";
import { Segmented } from "./Segmented.tsx";
import styles from "./Snippets.module.css";
import {
  type SnippetKind,
  type SnippetRequest,
  type SnippetService,
  snippetFor,
  snippetKinds,
  snippetUse,
} from "./snippets.ts";

interface SnippetsProps {
  readonly service: SnippetService;
  readonly request: SnippetRequest;
}

/** A request as code, for the client that the reader selects. */
export function Snippets({ service, request }: SnippetsProps) {
  const [kind, setKind] = useState<SnippetKind>("curl");
  const code = snippetFor(kind, service, request);
  const { install, note } = snippetUse(kind, service, request);
  return (
    <div className={styles.snippets}>
      <div className={panelStyles.panelHead}>
        <Segmented label="Client" value={kind} options={snippetKinds(request)} onChange={setKind} />
        <CopyButton text={code} what="code" />
      </div>
      {install === null ? null : (
        <div className={styles.command}>
          <Code label="Install" language="bash">
            {install}
          </Code>
          <CopyButton text={install} what="install command" short />
        </div>
      )}
      <Code label="Code" language={kind === "curl" ? "bash" : "typescript"}>
        {code}
      </Code>
      <p className={formStyles.hint}>{note}</p>
    </div>
  );
}
