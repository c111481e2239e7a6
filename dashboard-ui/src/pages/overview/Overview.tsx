import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import { LimitsPanel } from "../../components/LimitsPanel.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { LazyPart } from "../../components/lazy.tsx";
import { usePreload } from "../../components/lazy-code.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import textStyles from "../../components/text.module.css";
import { connectKeysQuery } from "../connect/keys-query.ts";
import { useNewKey } from "../connect/use-new-key.ts";
import { Checklist } from "./Checklist.tsx";
import { Credit } from "./Credit.tsx";
import styles from "./Overview.module.css";
import { accountUsage, gettingStarted } from "./parts.ts";

/** What is shown once the first request has arrived. */
const PRELOADS = [accountUsage.preload];

/** The interval between checks for the first request. */
const WAITING_MS = 2_000;

/** The account's overview, or the first steps until it has made a request. */
export function Overview() {
  const search = useSearch({ from: "/shell/account/" });
  const counts = useQuery(
    api.keys.count.queryOptions(undefined, {
      refetchInterval: ({ state }) => (state.data?.areUsed === false ? WAITING_MS : false),
    }),
  );
  const me = useQuery(api.auth.me.queryOptions());
  const isSuspended = me.data?.account?.state === "suspended";
  const isUnused = counts.data?.areUsed === false;
  usePreload(PRELOADS);
  const newKey = useNewKey();
  const hasFirstSteps = isUnused || newKey.mustStore;
  // The first steps show the account's keys. Later, they are not needed here.
  const list = useQuery({
    ...connectKeysQuery(),
    enabled: hasFirstSteps,
    refetchInterval: WAITING_MS,
  });
  const hasBegun = useBeginning(isUnused);
  const now = (
    <div className={styles.overviewNow}>
      <Credit />
      <LimitsPanel />
    </div>
  );
  return (
    <>
      <PageHead title="Overview" />
      <p className={textStyles.visuallyHidden} role="status">
        {hasBegun ? "The first request has arrived." : ""}
      </p>
      <Checklist />
      <Loaded query={counts} what="the account">
        {({ areUsed }) =>
          hasFirstSteps ? (
            <>
              <div className={styles.firstSteps}>
                <Loaded query={list} what="keys">
                  {({ keys }) => (
                    <LazyPart
                      code={gettingStarted}
                      props={{ keys, newKey, hasBegun: areUsed, isSuspended }}
                      what="the first steps"
                    />
                  )}
                </Loaded>
              </div>
              {now}
            </>
          ) : (
            <>
              {now}
              <LazyPart code={accountUsage} props={{ search }} what="usage" />
            </>
          )
        }
      </Loaded>
    </>
  );
}

/** True once the first request has arrived while the page was waiting for it. */
function useBeginning(isWaiting: boolean): boolean {
  const wasWaiting = useRef(false);
  const [hasBegun, setHasBegun] = useState(false);
  useEffect(() => {
    if (wasWaiting.current && !isWaiting) {
      setHasBegun(true);
      // Data loaded before the first request is stale.
      void queryClient.invalidateQueries({ queryKey: ["usage"] });
      void queryClient.invalidateQueries({ queryKey: api.account.firstSteps.queryKey() });
      // The focused element may have disappeared with the instructions.
      if (document.activeElement === document.body) document.getElementById("main")?.focus();
    }
    wasWaiting.current = isWaiting;
  }, [isWaiting]);
  return hasBegun;
}
