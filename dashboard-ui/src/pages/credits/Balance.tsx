import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { formatUsd, formatUsdRoughly } from "../../api/format.ts";
import { Answer } from "../../components/Answer.tsx";
import { Notice } from "../../components/Notice.tsx";

const LIVE_MS = 10_000;

/** What there is to spend. */
export function Balance() {
  const balance = useQuery(api.credits.balance.queryOptions(undefined, { refetchInterval: LIVE_MS }));
  return (
    <section className="panel" aria-labelledby="balance">
      <h2 id="credit-balance">Balance</h2>
      <Answer query={balance} what="the balance">
        {({ balanceNanoUsd, reservedNanoUsd }) => (
          <>
            <p className="credit-balance">{formatUsdRoughly(balanceNanoUsd)}</p>
            {formatUsdRoughly(balanceNanoUsd) === formatUsd(balanceNanoUsd) ? null : (
              <p className="quiet">Exactly {formatUsd(balanceNanoUsd)}.</p>
            )}
            {balanceNanoUsd > 0n ? null : (
              <Notice tone="warning">
                <p>There is no credit left: requests are refused with 402 until credits are granted.</p>
              </Notice>
            )}
            {reservedNanoUsd === 0n ? null : (
              <p className="quiet">
                Of it, {formatUsdRoughly(reservedNanoUsd)} is set aside for requests that are being answered,
                or about to come. What they do not use comes back.
              </p>
            )}
          </>
        )}
      </Answer>
      <p className="small">The operator of the service grants credits. Ask them for more.</p>
    </section>
  );
}
