import { PageHead } from "../../components/PageHead.tsx";
import accountStyles from "./Account.module.css";
import { Password } from "./Password.tsx";
import { Sessions } from "./Sessions.tsx";

/** Settings → Security of an operator, who has no account. */
export function SecuritySettings() {
  return (
    <>
      <PageHead crumb="Settings" title="Security" lead="Password and sessions." />
      <div className={accountStyles.account}>
        <Password />
        <Sessions />
      </div>
    </>
  );
}
