import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";
import { Answer } from "../../components/Answer.tsx";
import { LimitsPanel } from "../../components/LimitsPanel.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import textStyles from "../../components/text.module.css";
import { useNewKey } from "../connect/use-new-key.ts";
import { AccountUsage } from "./AccountUsage.tsx";
import { Checklist } from "./Checklist.tsx";
import { Credit } from "./Credit.tsx";
import { GettingStarted } from "./GettingStarted.tsx";
import styles from "./Overview.module.css";

/** The interval between checks for the first request. */
const WAITING_MS = 2_000;

/** The account's overview, or the first steps until it has made a request. */
export function Overview() {
  const list = useQuery(
    api.keys.list.queryOptions(undefined, {
      refetchInterval: ({ state }) => (isUnused(state.data?.keys) ? WAITING_MS : false),
    }),
  );
  const keys = list.data?.keys;
  const newKey = useNewKey();
  const hasBegun = useBeginning(isUnused(keys));
  const now = (
    <div className={styles.overviewNow}>
      <Credit />
      <LimitsPanel keys={keys} />
    </div>
  );
  return (
    <>
      <PageHead title="Overview" />
      <p className={textStyles.visuallyHidden} role="status">
        {hasBegun ? "The first request has arrived." : ""}
      </p>
      <Checklist />
      <Answer query={list} what="the account">
        {({ keys }) =>
          isUnused(keys) || newKey.mustStore ? (
            <>
              <GettingStarted keys={keys} newKey={newKey} hasBegun={!isUnused(keys)} />
              {now}
            </>
          ) : (
            <>
              {now}
              <AccountUsage />
            </>
          )
        }
      </Answer>
    </>
  );
}

/** Whether no key was ever used; false while that is unknown. */
function isUnused(keys: readonly ListedKey[] | undefined): boolean {
  return keys?.every(({ usage }) => usage.lastUsedAt === null) ?? false;
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
