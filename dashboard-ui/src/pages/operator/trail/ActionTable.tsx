import { Link } from "@tanstack/react-router";
import type { OperatorAction } from "../../../api/types.ts";
import { actionLabel } from "../../../components/action-labels.ts";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { Email } from "../../../components/Email.tsx";
import { ExactTime } from "../../../components/ExactTime.tsx";
import textStyles from "../../../components/text.module.css";
import consoleStyles from "../console.module.css";
import styles from "./ActionTable.module.css";
import { type Difference, differencesOf, shortIdOf } from "./differences.ts";

interface ActionTableProps {
  readonly actions: readonly OperatorAction[];
  /** Whether the changes are of one account, whose name is then left out, or of all. */
  readonly of: "account" | "service";
  /** Whether other changes are being loaded. */
  readonly busy?: boolean;
}

const TIME: Column<OperatorAction> = {
  label: "Time",
  kind: "time",
  cell: ({ at }) => <ExactTime at={at} />,
};
const CHANGE: Column<OperatorAction> = {
  label: "Change",
  className: styles.change,
  cell: (action) => <Change action={action} />,
};
const ACCOUNT: Column<OperatorAction> = {
  label: "Account",
  className: consoleStyles.whose,
  cell: (action) => <AccountOf action={action} />,
};
const BY: Column<OperatorAction> = {
  label: "By",
  className: consoleStyles.whose,
  cell: (action) => <By action={action} />,
};
const COLUMNS = { account: [TIME, CHANGE, BY], service: [TIME, CHANGE, ACCOUNT, BY] };

/** A table of changes: values before and after, author and address. */
export function ActionTable({ actions, of, busy = false }: ActionTableProps) {
  return (
    <DataTable
      caption="Changes, newest first"
      className={styles.trailTable}
      columns={COLUMNS[of]}
      rows={actions}
      rowKey={({ id }) => id}
      busy={busy}
    />
  );
}

function Change({ action }: { readonly action: OperatorAction }) {
  const differences = differencesOf(action);
  const id = shortIdOf(action);
  return (
    <div className={styles.changeBody}>
      <p className={styles.changeName}>
        {actionLabel(action)}
        {id === null ? null : " "}
        {id === null ? null : <code className={textStyles.small}>…{id}</code>}
      </p>
      {action.reason === null ? null : <p className={textStyles.quotation}>{action.reason}</p>}
      {differences.length === 0 ? null : (
        <dl className={styles.differences}>
          {differences.map((difference) => (
            <div key={difference.name}>
              <dt>{difference.name}</dt>
              <dd>
                <Values difference={difference} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

function Values({ difference: { before, after } }: { readonly difference: Difference }) {
  if (before === null) return after;
  return (
    <>
      <del>{before}</del>
      <span className={textStyles.visuallyHidden}> became </span>
      <span aria-hidden="true"> → </span>
      <ins>{after ?? "none"}</ins>
    </>
  );
}

function AccountOf({ action: { accountId, accountName } }: { readonly action: OperatorAction }) {
  if (accountId === null) return <span className={textStyles.quiet}>none</span>;
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId }}>
      <bdi>{accountName ?? accountId}</bdi>
    </Link>
  );
}

function By({ action: { by, byOperator, userEmail } }: { readonly action: OperatorAction }) {
  if (by === null) return "the service";
  const facts = [
    byOperator ? "operator" : null,
    by.managementToken === null ? null : "with a management token",
    by.sourceIp === null ? null : `from ${by.sourceIp}`,
  ].filter((fact) => fact !== null);
  return (
    <span className={textStyles.pair}>
      <span>{userEmail === null ? "deleted user" : <Email address={userEmail} />}</span>
      <span className={textStyles.small}>{facts.join(", ")}</span>
    </span>
  );
}
