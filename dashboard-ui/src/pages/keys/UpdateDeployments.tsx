import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { CopyButton } from "../../components/CopyButton.tsx";
import { keyVariable } from "../../components/snippets.ts";
import styles from "./UpdateDeployments.module.css";

interface UpdateDeploymentsProps {
  readonly oldName: string;
  readonly successorName: string;
}

/** The instructions for each deployment. */
export function UpdateDeployments({ oldName, successorName }: UpdateDeploymentsProps) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  const assignment = info.data === undefined ? null : `export ${keyVariable(info.data.serviceName)}=sk-…`;
  return (
    <>
      <p>Clients read the key from the environment. Update one service at a time:</p>
      <ol className={styles.rotationChecklist}>
        <li>
          Replace “{oldName}” with “{successorName}” in the service's secret manager.
          {assignment === null ? null : (
            <span className={styles.rotationAssignment}>
              <code>{assignment}</code>
              <CopyButton text={assignment} what="line" short />
            </span>
          )}
        </li>
        <li>Restart or redeploy the service to load the new key.</li>
        <li>Check below that its requests use the new key, then continue with the next service.</li>
        <li>Remember nightly jobs, scripts, pipelines and developer machines.</li>
      </ol>
    </>
  );
}
