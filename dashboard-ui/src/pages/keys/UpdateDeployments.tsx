import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { CopyButton } from "../../components/CopyButton.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { keyVariable } from "../../components/snippets.ts";
import styles from "./UpdateDeployments.module.css";

interface UpdateDeploymentsProps {
  readonly oldName: string;
  readonly successorName: string;
}

/** The instructions for each deployment. */
export function UpdateDeployments({ oldName, successorName }: UpdateDeploymentsProps) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  return (
    <>
      <p>Clients read the key from the environment. Update one service at a time:</p>
      <ol className={styles.rotationChecklist}>
        <li>
          Replace “{oldName}” with “{successorName}” in the service's secret manager.
          <Loaded query={info} what="the service">
            {({ serviceName }) => <Assignment text={`export ${keyVariable(serviceName)}=sk-…`} />}
          </Loaded>
        </li>
        <li>Restart or redeploy the service to load the new key.</li>
        <li>Check below that its requests use the new key, then continue with the next service.</li>
        <li>Remember nightly jobs, scripts, pipelines and developer machines.</li>
      </ol>
    </>
  );
}

function Assignment({ text }: { readonly text: string }) {
  return (
    <span className={styles.rotationAssignment}>
      <code>{text}</code>
      <CopyButton text={text} what="line" short />
    </span>
  );
}
