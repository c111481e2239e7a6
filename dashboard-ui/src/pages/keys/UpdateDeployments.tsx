import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { keyVariable } from "../../api/snippets.ts";
import { CopyButton } from "../../components/CopyButton.tsx";

interface UpdateDeploymentsProps {
  readonly oldName: string;
  readonly successorName: string;
}

/** What there is to do in each deployment. */
export function UpdateDeployments({ oldName, successorName }: UpdateDeploymentsProps) {
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  const assignment = info.data === undefined ? null : `export ${keyVariable(info.data.serviceName)}=sk-…`;
  return (
    <>
      <p>
        Clients read the key from the environment. Where there are several services, update one after the
        other:
      </p>
      <ol className="rotation-checklist">
        <li>
          Put “{successorName}” into the service's secret manager, in the place of “{oldName}”.
          {assignment === null ? null : (
            <span className="rotation-assignment">
              <code>{assignment}</code>
              <CopyButton text={assignment} what="line" short />
            </span>
          )}
        </li>
        <li>Restart or deploy the service, so that it reads its environment again.</li>
        <li>See its requests come with the new key below, then go on with the next service.</li>
        <li>Think of what seldom runs: nightly jobs, scripts, pipelines, somebody's machine.</li>
      </ol>
    </>
  );
}
