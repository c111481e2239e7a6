import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { startOf } from "../usage/period.ts";
import { useCurrentHour } from "../usage/use-current-hour.ts";
import { outlookOf, outlookOfBalance, RATE_DAYS, spendOf } from "./outlook.ts";

const REFRESH_MS = 30_000;

/** The account's balance and how long it lasts; `outlook` and the spend are undefined until they are loaded, unless the balance alone tells enough. */
export function useOutlook() {
  const today = startOf(useCurrentHour(), "day", 0);
  const period = { from: startOf(today, "day", -RATE_DAYS), to: startOf(today, "day", 1) };
  const options = { refetchInterval: REFRESH_MS };
  const balance = useQuery(api.credits.balance.queryOptions(undefined, options));
  const usage = useQuery(
    api.usage.summary.queryOptions({ ...period, interval: "day", groupBy: "none" }, options),
  );
  const spend = usage.data === undefined ? undefined : spendOf(usage.data.rows, today);
  const balanceNanoUsd = balance.data?.balanceNanoUsd;
  if (balanceNanoUsd === undefined) return { balance, spend, outlook: undefined };
  const outlook =
    spend === undefined
      ? outlookOfBalance(balanceNanoUsd, usage.isError)
      : outlookOf({ balanceNanoUsd, ...spend });
  return { balance, spend, outlook };
}
