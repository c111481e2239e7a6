import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { formatDateTime } from "./format.ts";
import { Notice } from "./Notice.tsx";

/** Says since when and why the account is suspended. */
export function SuspensionBanner() {
  const account = useQuery(api.account.get.queryOptions());
  const suspension = account.data?.suspension;
  return (
    <Notice tone="warning">
      <p>
        <strong>
          {suspension == null
            ? "This account is suspended."
            : `This account has been suspended since ${formatDateTime(suspension.at)}.`}
        </strong>{" "}
        {suspension == null ? null : `Reason: ${suspension.reason.replace(/\.$/, "")}. `}
        Requests with its keys are refused with 403. Contact the operator of the service.
      </p>
    </Notice>
  );
}
