import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { AccountDetails } from "../../../api/types.ts";
import { Below } from "../../../components/Below.tsx";
import { Chart } from "../../../components/Chart.tsx";
import { formatCount, formatCountBriefly } from "../../../components/format.ts";
import { Loaded } from "../../../components/Loaded.tsx";
import panelStyles from "../../../components/Panel.module.css";
import textStyles from "../../../components/text.module.css";
import { groupsOf, sumOf, totalsOf } from "../../usage/groups.ts";
import { periodOf } from "../../usage/period.ts";
import { type UsageAnswer, usageQuery } from "../../usage/queries.ts";
import { operatedUsage } from "../../usage/sources.ts";
import { UsageFigures } from "../../usage/UsageFigures.tsx";
import { useCurrentHour } from "../../usage/use-current-hour.ts";
import consoleStyles from "../console.module.css";
import { KeysInUse } from "./KeysInUse.tsx";
import { RecentErrors } from "./RecentErrors.tsx";
import { State } from "./State.tsx";
import { Users } from "./Users.tsx";

const REFRESH_MS = 30_000;

/** What an operator asks first about an account: whether it is suspended, what it has used lately, with which keys, what failed, and whose it is. */
export function Overview({ account }: { readonly account: AccountDetails }) {
  const { id, suspension } = account;
  const hour = useCurrentHour();
  const period = useMemo(() => periodOf({ range: "7d" }, hour), [hour]);
  const source = useMemo(() => operatedUsage(id), [id]);
  const usage = useQuery({ ...usageQuery(source, period, "key"), refetchInterval: REFRESH_MS });
  return (
    <div className={consoleStyles.consoleColumn}>
      {suspension === null ? null : <State suspension={suspension} />}
      <section className={panelStyles.panel} aria-labelledby="last-days">
        <div className={panelStyles.panelHead}>
          <h2 id="last-days">Last 7 days</h2>
          <Link to="." search={{ tab: "usage" }}>
            All usage
          </Link>
        </div>
        <Loaded query={usage} what="usage">
          {(answer) => <LastDays id={id} answer={answer} />}
        </Loaded>
      </section>
      <Below queries={[usage]}>
        <div className={consoleStyles.consoleColumns}>
          <KeysInUse id={id} query={usage} />
          <RecentErrors id={id} from={period.span.from} />
          <Users account={account} />
        </div>
      </Below>
    </div>
  );
}

interface LastDaysProps {
  readonly id: string;
  readonly answer: UsageAnswer<"key" | "model" | "none">;
}

/** The totals of the last days, and the requests of each, which lead to the log. */
function LastDays({ id, answer: { rows, period, before } }: LastDaysProps) {
  const navigate = useNavigate();
  const totals = totalsOf(groupsOf(rows, period.starts), period.starts.length);
  const total = sumOf(totals);
  if (total.requests === 0) return <p className={textStyles.quiet}>No requests in {period.words}.</p>;
  return (
    <>
      <UsageFigures total={total} before={before} labelBefore={period.labelBefore} />
      <Chart
        label={`Requests, ${period.words}`}
        heightPx={130}
        times={period.starts}
        interval={period.span.interval}
        timeZone={period.shownZone}
        series={[
          { label: "Successful", values: totals.map(({ requests, errors }) => requests - errors) },
          { label: "Errors", values: totals.map(({ errors }) => errors), colour: "errors" },
        ]}
        format={formatCount}
        formatTick={formatCountBriefly}
        onPick={({ interval, series }) => {
          const from = period.starts[interval];
          const to = period.starts[interval + 1] ?? period.span.to;
          if (from === undefined) return;
          const time = { from: from.toISOString(), to: to.toISOString() };
          const status = series === 1 ? { status: "error" } : {};
          void navigate({ to: "/operator/log", search: { accountId: id, ...time, ...status } });
        }}
      />
    </>
  );
}
