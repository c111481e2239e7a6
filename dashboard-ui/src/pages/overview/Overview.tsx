import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, queryClient } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";
import { Answer } from "../../components/Answer.tsx";
import { LimitsPanel } from "../../components/LimitsPanel.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import textStyles from "../../components/text.module.css";
import { AccountUsage } from "./AccountUsage.tsx";
import { Credit } from "./Credit.tsx";
import { GettingStarted } from "./GettingStarted.tsx";
import styles from "./Overview.module.css";

/** How often the account is asked whether its first request has come. */
const WAITING_MS = 2_000;

/** What an account does, has and may: or, until it has done something, how to begin. */
export function Overview() {
  const list = useQuery(
    api.keys.list.queryOptions(undefined, {
      refetchInterval: ({ state }) => (isUnused(state.data?.keys) ? WAITING_MS : false),
    }),
  );
  const keys = list.data?.keys;
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
      <Answer query={list} what="the account">
        {({ keys }) =>
          isUnused(keys) ? (
            <>
              <GettingStarted keys={keys} />
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

/** Whether none of the keys was ever used; false while that is not known. */
function isUnused(keys: readonly ListedKey[] | undefined): boolean {
  return keys?.every(({ usage }) => usage.lastUsedAt === null) ?? false;
}

/** True once the first request has come while somebody was waiting for it. */
function useBeginning(isWaiting: boolean): boolean {
  const wasWaiting = useRef(false);
  const [hasBegun, setHasBegun] = useState(false);
  useEffect(() => {
    if (wasWaiting.current && !isWaiting) {
      setHasBegun(true);
      // What was loaded before the first request is out of date.
      void queryClient.invalidateQueries({ queryKey: ["usage"] });
      // What had the focus may have gone with the instructions.
      if (document.activeElement === document.body) document.getElementById("main")?.focus();
    }
    wasWaiting.current = isWaiting;
  }, [isWaiting]);
  return hasBegun;
}
