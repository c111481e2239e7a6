import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatCount, formatDateTime } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import textStyles from "../../components/text.module.css";
import { startOf } from "../usage/period.ts";
import { useCurrentHour } from "../usage/use-current-hour.ts";

const REFRESH_MS = 30_000;
const DAYS = 30;

interface ErrorCount {
  readonly value: string;
  readonly requests: number;
}

/** The errors of a key's requests in the last 30 days, by code. */
export function KeyErrors({ id }: { readonly id: string }) {
  const from = startOf(useCurrentHour(), "day", 1 - DAYS).toISOString();
  const query = useQuery(
    api.audit.summary.queryOptions(
      { key: id, status: "error", from },
      { refetchInterval: REFRESH_MS, placeholderData: keepPreviousData },
    ),
  );
  const columns: readonly Column<ErrorCount>[] = [
    {
      label: "Error",
      kind: "name",
      cell: ({ value }) => (
        <Link to="/audit" search={{ key: id, error_code: value, from }}>
          {value}
        </Link>
      ),
    },
    { label: "Requests", kind: "number", cell: ({ requests }) => formatCount(requests) },
  ];
  return (
    <>
      <h2>Errors in the last {DAYS} days</h2>
      <Loaded query={query} what="errors">
        {({ errorCodes, countedFrom }) => (
          <>
            {errorCodes.length === 0 ? (
              <p className={textStyles.quiet}>No errors in the last {DAYS} days.</p>
            ) : (
              <DataTable
                caption={`Errors of the last ${DAYS} days, by code`}
                columns={columns}
                rows={errorCodes}
                rowKey={({ value }) => value}
              />
            )}
            {countedFrom === null ? null : (
              <p className={textStyles.small}>Counted since {formatDateTime(countedFrom)}.</p>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}
