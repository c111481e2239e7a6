import { api, queryClient } from "../../api/client.ts";
import { lazyCode } from "../../components/lazy-code.tsx";
import { load } from "../../load.ts";
import { connectKeysQuery } from "../connect/keys-query.ts";

/** What the overview shows before the account's first request. */
export const gettingStarted = lazyCode(async () => (await import("./GettingStarted.tsx")).GettingStarted);
/** What it shows after it: charts, which are a tenth of the page's bytes. */
export const accountUsage = lazyCode(async () => (await import("./AccountUsage.tsx")).AccountUsage);

/** Loads the part that the account needs, with its data, so that nothing below it moves. A part that fails says so in its place. */
export async function loadPart(): Promise<void> {
  try {
    const { areUsed } = await queryClient.ensureQueryData(api.keys.count.queryOptions());
    const part = areUsed ? accountUsage : gettingStarted;
    part.restart();
    await Promise.all([part.load(), areUsed ? null : loadFirstSteps()]);
  } catch {
    // The page shows what failed, and tries again.
  }
}

/** Loads what the checklist shows, so that it moves nothing when it appears. */
export async function loadChecklist(): Promise<void> {
  try {
    const { hasRealModel } = await queryClient.ensureQueryData(api.account.firstSteps.queryOptions());
    if (!hasRealModel) await load(api.models.list.queryOptions());
  } catch {
    // The page does without the checklist, and tries again.
  }
}

function loadFirstSteps(): Promise<void> {
  return load(connectKeysQuery(), api.models.list.queryOptions(), api.service.info.queryOptions());
}
