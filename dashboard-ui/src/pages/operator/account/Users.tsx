import { useState } from "react";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import listsStyles from "../../../components/lists.module.css";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import { ResetPassword } from "./ResetPassword.tsx";
import styles from "./Users.module.css";

/** The account's users. */
export function Users({ account }: { readonly account: AccountDetails }) {
  const [resetting, setResetting] = useState<string | null>(null);
  return (
    <section className={panelStyles.panel} aria-labelledby="users">
      <h2 id="users">Users</h2>
      {account.users.length === 0 ? <p className={textStyles.quiet}>This account has no users.</p> : null}
      <ul className={listsStyles.rows}>
        {account.users.map(({ id, email }) => (
          <li key={id}>
            <span className={styles.userEmail}>{email}</span>
            <Button aria-label={`Reset password of ${email}`} onClick={() => setResetting(email)}>
              Reset password
            </Button>
          </li>
        ))}
      </ul>
      {resetting === null ? null : <ResetPassword email={resetting} onClose={() => setResetting(null)} />}
    </section>
  );
}
