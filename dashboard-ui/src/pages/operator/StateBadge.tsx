import type { ListedAccount } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";

/** Whether an account is active or suspended. */
export function StateBadge({ state }: Pick<ListedAccount, "state">) {
  return <Badge tone={state === "active" ? "good" : "bad"}>{state}</Badge>;
}
