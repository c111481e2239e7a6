import type { ListedAccount } from "../../api/types.ts";

/** Whether an account is active or suspended. */
export function StateBadge({ state }: Pick<ListedAccount, "state">) {
  return <span className={`badge badge-${state === "active" ? "active" : "failed"}`}>{state}</span>;
}
