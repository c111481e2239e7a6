import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { type Column, DataTable } from "../../../components/DataTable.tsx";
import { formatCount } from "../../../components/format.ts";
import { Loaded } from "../../../components/Loaded.tsx";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";

interface RecentErrorsProps {
  /** The id of the account. */
  readonly id: string;
  readonly from: Date;
}

interface ErrorCount {
  readonly value: string;
  readonly requests: number;
}

const REFRESH_MS = 30_000;
/** The number of error codes that are shown: the most frequent. */
const MAX_CODES = 5;

/** The errors of the account's requests in the last 7 days, by code. */
export function RecentErrors({ id, from }: RecentErrorsProps) {
  const filters = { accountId: id, status: "error", from: from.toISOString() } as const;
  const query = useQuery(
    api.operator.log.summary.queryOptions(filters, {
      refetchInterval: REFRESH_MS,
      placeholderData: keepPreviousData,
    }),
  );
  const columns: readonly Column<ErrorCount>[] = [
    {
      label: "Error",
      kind: "name",
      cell: ({ value }) => (
        <Link to="/operator/log" search={{ ...filters, error_code: value }}>
          {value}
        </Link>
      ),
    },
    { label: "Requests", kind: "number", cell: ({ requests }) => formatCount(requests) },
  ];
  return (
    <section className={panelStyles.panel} aria-labelledby="recent-errors">
      <div className={panelStyles.panelHead}>
        <h2 id="recent-errors">Recent errors</h2>
        <Link to="/operator/log" search={filters}>
          All errors
        </Link>
      </div>
      <Loaded query={query} what="errors">
        {({ errorCodes }) =>
          errorCodes.length === 0 ? (
            <p className={textStyles.quiet}>No errors in the last 7 days.</p>
          ) : (
            <DataTable
              caption="Errors of the last 7 days, by code"
              columns={columns}
              rows={errorCodes.slice(0, MAX_CODES)}
              rowKey={({ value }) => value}
            />
          )
        }
      </Loaded>
    </section>
  );
}
