import { api, queryClient } from "../../../api/client.ts";
import type { AccountDetails } from "../../../api/types.ts";

/** Updates the shown account at once. */
export function showAccount(id: string, changed: Partial<AccountDetails>): void {
  queryClient.setQueryData(api.operator.accounts.get.queryKey({ id }), (known) =>
    known === undefined ? known : { ...known, ...changed },
  );
}

/** Refetches after every attempt, even a failed one: the change may have been made although the answer was lost. */
export function askAgain(): void {
  void queryClient.invalidateQueries(api.operator.accounts.pathFilter());
  void queryClient.invalidateQueries(api.operator.audit.pathFilter());
}

/** Clears a field if it still holds the value that was sent, and keeps later typing. */
export function clearedOf<Value>(sent: Value | null): (now: Value | null) => Value | null {
  return (now) => (now === sent ? null : now);
}

/** Options of all mutations of an account: the page refetches its data afterwards. */
export function changeOptions(id: string) {
  return {
    onSuccess: ({ account }: { readonly account: Partial<AccountDetails> }) => showAccount(id, account),
    onSettled: askAgain,
  };
}
