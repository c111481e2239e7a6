import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { formatBalance, formatUsd, formatUsdRoughly } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import creditsStyles from "./Credits.module.css";

const LIVE_MS = 10_000;

/** The account's balance. */
export function Balance() {
  const balance = useQuery(api.credits.balance.queryOptions(undefined, { refetchInterval: LIVE_MS }));
  return (
    <section className={panelStyles.panel} aria-labelledby="credit-balance">
      <h2 id="credit-balance">Balance</h2>
      <Loaded query={balance} what="the balance">
        {({ balanceNanoUsd, reservedNanoUsd }) => (
          <>
            <p className={creditsStyles.creditBalance}>{formatBalance(balanceNanoUsd)}</p>
            {formatBalance(balanceNanoUsd) === formatUsd(balanceNanoUsd) ? null : (
              <p className={textStyles.quiet}>Exactly {formatUsd(balanceNanoUsd)}.</p>
            )}
            {reservedNanoUsd === 0n ? null : (
              <p className={textStyles.quiet}>
                {formatUsdRoughly(reservedNanoUsd)} of it is reserved for running and upcoming requests. What
                they do not use is released.
              </p>
            )}
          </>
        )}
      </Loaded>
      <p className={textStyles.small}>To add credit, contact the operator of the service.</p>
    </section>
  );
}
