import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { LimitsPanel } from "../../components/LimitsPanel.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import styles from "./Account.module.css";
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
      <PageHead crumb="Settings" title="Account" lead="Plan, limits, IP rules and sign-in security." />
      <div className={styles.account}>
        <div className={styles.accountColumn}>
          <Loaded query={account} what="the account">
            {(data) => (
              <>
                <Plan account={data} />
                <LimitsPanel />
                <IpRules account={data} />
              </>
            )}
          </Loaded>
        </div>
        <div className={styles.accountColumn}>
          <Password />
          <Sessions />
          <section className={panelStyles.panel} aria-labelledby="tokens">
            <h2 id="tokens">Management tokens</h2>
            <p>
              Automate key management from scripts. <Link to="/settings/tokens">Manage tokens</Link>
            </p>
          </section>
        </div>
      </div>
      <RecentChanges />
    </>
  );
}
