import { useInfiniteQuery } from "@tanstack/react-query";
import type { AccountAction } from "../../api/types.ts";
import { actionLabel } from "../../components/action-labels.ts";
import { classes } from "../../components/classes.ts";
import { Email } from "../../components/Email.tsx";
import { formatDateTime } from "../../components/format.ts";
import listsStyles from "../../components/lists.module.css";
import { Paged } from "../../components/Paged.tsx";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import { changesQuery } from "./changes-query.ts";
import styles from "./RecentChanges.module.css";

/** The account's recent changes and their authors. */
export function RecentChanges() {
  const list = useInfiniteQuery(changesQuery());
  const actions = list.data?.pages.flatMap((page) => page.actions) ?? [];
  return (
    <section className={panelStyles.panel} aria-labelledby="changes">
      <h2 id="changes">Audit trail</h2>
      <Paged query={list} what="changes">
        {list.isSuccess && actions.length === 0 ? <p className={textStyles.quiet}>No changes yet.</p> : null}
        {actions.length === 0 ? null : (
          <ul className={classes(listsStyles.rows, styles.accountChanges)}>
            {actions.map((action) => (
              <li key={action.id}>
                <span>{actionLabel(action)}</span>
                <span className={textStyles.small}>
                  {formatDateTime(action.at)} by <Actor action={action} />
                  {action.reason === null ? "" : `: ${action.reason}`}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Paged>
    </section>
  );
}

function Actor({ action: { by, byOperator, userEmail } }: { readonly action: AccountAction }) {
  if (byOperator) return "the operator of the service";
  if (by === null) return "the service";
  return (
    <>
      {userEmail === null ? "a user" : <Email address={userEmail} />}
      {by.managementToken === null ? "" : " with a management token"}
      {by.sourceIp === null ? "" : ` from ${by.sourceIp}`}
    </>
  );
}
