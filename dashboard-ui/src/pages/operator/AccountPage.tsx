import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { Answer } from "../../components/Answer.tsx";
import buttonStyles from "../../components/Button.module.css";
import { PageHead } from "../../components/PageHead.tsx";
import { AccountTrail } from "./account/AccountTrail.tsx";
import { Credits } from "./account/Credits.tsx";
import { Facts } from "./account/Facts.tsx";
import { IpRules } from "./account/IpRules.tsx";
import { Limits } from "./account/Limits.tsx";
import { PlanForm } from "./account/PlanForm.tsx";
import { State } from "./account/State.tsx";
import { Users } from "./account/Users.tsx";
import consoleStyles from "./console.module.css";

/** The details of one account, with the changes that an operator can make. */
export function AccountPage() {
  const { accountId } = useParams({ from: "/shell/operator/operator/accounts/$accountId" });
  // The key resets the forms when the account changes.
  return <AccountView key={accountId} id={accountId} />;
}

function AccountView({ id }: { readonly id: string }) {
  const query = useQuery(api.operator.accounts.get.queryOptions({ id }, { staleTime: 0 }));
  return (
    <>
      <PageHead title={query.data?.name ?? "Account"} crumb={<Link to="/operator">Accounts</Link>}>
        <Link className={buttonStyles.button} to="/operator/security" search={{ accountId: id }}>
          Security events
        </Link>
        <Link className={buttonStyles.button} to="/operator/usage" search={{ range: "30d", by: "account" }}>
          Usage by account
        </Link>
      </PageHead>
      <Answer query={query} what="the account">
        {(account) => (
          <>
            <Facts account={account} />
            <div className={consoleStyles.consoleColumns}>
              <div className={consoleStyles.consoleColumn}>
                <State account={account} />
                <PlanForm account={account} />
                <Credits account={account} />
                <Users account={account} />
              </div>
              <div className={consoleStyles.consoleColumn}>
                <IpRules account={account} />
                <Limits account={account} />
              </div>
            </div>
            <AccountTrail accountId={account.id} />
          </>
        )}
      </Answer>
    </>
  );
}
