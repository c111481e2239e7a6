import type { AccountDetails } from "../../../api/types.ts";
import { Email } from "../../../components/Email.tsx";
import listsStyles from "../../../components/lists.module.css";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import styles from "./Users.module.css";

/** The account's users. */
export function Users({ account: { users } }: { readonly account: AccountDetails }) {
  return (
    <section className={panelStyles.panel} aria-labelledby="users">
      <h2 id="users">Users</h2>
      {users.length === 0 ? <p className={textStyles.quiet}>This account has no users.</p> : null}
      <ul className={listsStyles.rows}>
        {users.map(({ id, email }) => (
          <li key={id}>
            <span className={styles.userEmail}>
              <Email address={email} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
