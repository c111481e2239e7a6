import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../api/client.ts";
import type { CreditState } from "../pages/credits/outlook.ts";
import { useOutlook } from "../pages/credits/use-outlook.ts";
import { formatBalance } from "./format.ts";
import { Notice } from "./Notice.tsx";

const SHORT: ReadonlySet<CreditState> = new Set(["empty", "short", "low"]);

/** Warns when the credit of the account is used up, or will be within days. */
export function CreditBanner() {
  const { balance, outlook } = useOutlook();
  const isShort = outlook !== undefined && SHORT.has(outlook.state);
  // Credit does not matter where every model is free.
  const models = useQuery(api.models.list.queryOptions(undefined, { enabled: isShort }));
  const hasPrices = models.data?.models.some(({ prices }) => prices !== null) ?? false;
  if (!isShort || !hasPrices || balance.data === undefined) return null;
  return (
    <Notice tone={outlook.state === "empty" ? "error" : "warning"}>
      <p>
        <strong>
          {outlook.state === "empty"
            ? "No credit left."
            : `Only ${formatBalance(balance.data.balanceNanoUsd)} of credit left.`}
        </strong>{" "}
        {outlook.words} To add credit, contact the operator of the service.{" "}
        <Link to="/settings/credits">View credits</Link>
      </p>
    </Notice>
  );
}
