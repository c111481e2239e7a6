import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { SecurityEvent } from "../../../api/types.ts";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { Email } from "../../../components/Email.tsx";
import { ExactTime } from "../../../components/ExactTime.tsx";
import { formatCount, formatExactTime } from "../../../components/format.ts";
import { Pair } from "../../../components/Pair.tsx";
import textStyles from "../../../components/text.module.css";
import consoleStyles from "../console.module.css";
import styles from "./SecurityTable.module.css";
import { SECURITY_LABELS } from "./security-labels.ts";

interface SecurityTableProps {
  readonly events: readonly SecurityEvent[];
  /** Whether other events are being loaded. */
  readonly busy: boolean;
}

const COLUMNS: readonly Column<SecurityEvent>[] = [
  { label: "Last seen", kind: "time", cell: (event) => <Times event={event} /> },
  {
    label: "Event",
    cell: ({ kind }) => (
      <Pair first={<span className={styles.eventTitle}>{SECURITY_LABELS[kind].title}</span>}>
        {SECURITY_LABELS[kind].more}
      </Pair>
    ),
  },
  {
    label: "Account",
    className: consoleStyles.whose,
    cell: (event) => (
      <span className={textStyles.pair}>
        <AccountOf event={event} />
        <About event={event} />
      </span>
    ),
  },
  { label: "Source IP", cell: (event) => <Source event={event} /> },
  { label: "Count", kind: "number", cell: ({ count }) => formatCount(count) },
];

/** A table of security events. Equal events within an hour are one row. */
export function SecurityTable({ events, busy }: SecurityTableProps) {
  return (
    <DataTable
      caption="Security events, most recent first"
      className={styles.securityTable}
      columns={COLUMNS}
      rows={events}
      rowKey={({ id }) => id}
      busy={busy}
    />
  );
}

function Times({ event: { firstAt, lastAt } }: { readonly event: SecurityEvent }) {
  const [first, last] = [formatExactTime(firstAt), formatExactTime(lastAt)];
  return (
    <Pair first={<ExactTime at={lastAt} />}>
      {first === last ? null : (
        <>
          first <ExactTime at={firstAt} />
        </>
      )}
    </Pair>
  );
}

function AccountOf({ event: { account } }: { readonly event: SecurityEvent }): ReactNode {
  if (account === null) return null;
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId: account.id }}>
      <bdi>{account.name}</bdi>
    </Link>
  );
}

/** The key, user or upstream of an event. */
function About({
  event: { account, keyId, userEmail, upstream },
}: {
  readonly event: SecurityEvent;
}): ReactNode {
  if (keyId !== null) {
    return (
      <span className={textStyles.small}>
        key <code>…{keyId}</code>
      </span>
    );
  }
  if (userEmail !== null || upstream !== null) {
    return (
      <span className={account === null ? undefined : textStyles.small}>
        {userEmail === null ? upstream : <Email address={userEmail} />}
      </span>
    );
  }
  return account === null ? <span className={textStyles.quiet}>unknown</span> : null;
}

function Source({ event: { sourceIp, upstream } }: { readonly event: SecurityEvent }): ReactNode {
  if (sourceIp === null)
    return <span className={textStyles.quiet}>{upstream === null ? "unknown" : "–"}</span>;
  return (
    <Link
      to="/operator/security"
      search={(before) => ({ ...before, source: sourceIp })}
      aria-label={`Only events from ${sourceIp}`}
    >
      <code>{sourceIp}</code>
    </Link>
  );
}
