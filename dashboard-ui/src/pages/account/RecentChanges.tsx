import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { formatDateTime } from "../../api/format.ts";
import type { AccountAction } from "../../api/types.ts";
import { LoadError, Loading } from "../../components/Notice.tsx";

const SHOWN = 20;

const WORDS: Readonly<Record<AccountAction["action"], string>> = {
  "account.create": "Account made",
  "account.suspend": "Account suspended",
  "account.reinstate": "Account reinstated",
  "account.setPlan": "Plan changed",
  "account.setIpRules": "IP rules changed",
  "account.setLimits": "Limits changed",
  "account.grantCredits": "Credits granted",
  "key.create": "Key created",
  "key.reissue": "Key issued again",
  "key.rotate": "Successor of a key created",
  "key.revoke": "Key revoked",
  "token.create": "Management token created",
  "token.revoke": "Management token revoked",
  "user.signUp": "Signed up",
  "user.changePassword": "Password changed",
  "user.resetPassword": "Password reset",
  "user.signOutAll": "Signed out everywhere",
};

/** What was changed in the account, and by whom. */
export function RecentChanges() {
  const list = useQuery(api.account.actions.queryOptions({ limit: SHOWN }));
  return (
    <section className="panel" aria-labelledby="changes">
      <h2 id="changes">Recent changes</h2>
      {list.isPending ? <Loading what="changes" /> : null}
      {list.isError ? (
        <LoadError error={list.error} busy={list.isFetching} retry={() => list.refetch()} />
      ) : null}
      <ul className="rows">
        {(list.data?.actions ?? []).map((action) => (
          <li key={action.id}>
            <span className="pair">
              <span>
                {WORDS[action.action]}
                {nameOf(action)}
              </span>
              <span className="small">
                {formatDateTime(action.at)} by {actorOf(action)}
                {action.reason === null ? "" : `: ${action.reason}`}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function nameOf({ action, after }: AccountAction): string {
  const isNamed = action.startsWith("key.") || action.startsWith("token.");
  return isNamed && typeof after?.name === "string" ? `: “${after.name}”` : "";
}

function actorOf({ by, byOperator, userEmail }: AccountAction): string {
  if (byOperator) return "the operator of the service";
  if (by === null) return "the service";
  const how = by.managementToken === null ? "" : " with a management token";
  const from = by.sourceIp === null ? "" : ` from ${by.sourceIp}`;
  return `${userEmail ?? "a user"}${how}${from}`;
}
