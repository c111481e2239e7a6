import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { LoadError, Loading } from "../../components/Notice.tsx";
import { Title } from "../../components/Title.tsx";
import { IpRules } from "./IpRules.tsx";
import { Password } from "./Password.tsx";
import { Plan } from "./Plan.tsx";
import { RecentChanges } from "./RecentChanges.tsx";
import { Sessions } from "./Sessions.tsx";

/** Settings → Account. */
export function Account() {
  const account = useQuery(api.account.get.queryOptions());
  return (
    <>
      <div className="page-head">
        <div>
          <p className="crumb">Settings</p>
          <Title>Account</Title>
        </div>
      </div>
      {account.isPending ? <Loading what="the account" /> : null}
      {account.isError ? (
        <LoadError error={account.error} busy={account.isFetching} retry={() => account.refetch()} />
      ) : null}
      {account.data === undefined ? null : (
        <>
          <Plan account={account.data} />
          <IpRules account={account.data} />
        </>
      )}
      <Password />
      <Sessions />
      <RecentChanges />
    </>
  );
}
