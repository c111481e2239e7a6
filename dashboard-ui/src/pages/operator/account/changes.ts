import { api, queryClient } from "../../../api/client.ts";
import type { AccountDetails } from "../../../api/types.ts";

/** What is new about an account, shown at once. */
export function showAccount(id: string, changed: Partial<AccountDetails>): void {
  queryClient.setQueryData(api.operator.accounts.get.queryKey({ id }), (known) =>
    known === undefined ? known : { ...known, ...changed },
  );
}

/** After every attempt, failed ones too: the change may have been made, and only its answer lost. */
export function askAgain(): void {
  void queryClient.invalidateQueries(api.operator.accounts.pathFilter());
  void queryClient.invalidateQueries(api.operator.audit.pathFilter());
}

/** What was typed goes when it has been sent; what has been typed since stays. */
export function clearedOf<Value>(sent: Value, cleared: Value): (now: Value) => Value {
  return (now) => (now === sent ? cleared : now);
}

/** What changes of an account have in common: what is shown afterwards is what is true. */
export function changeOptions(id: string) {
  return {
    onSuccess: ({ account }: { readonly account: Partial<AccountDetails> }) => showAccount(id, account),
    onSettled: askAgain,
  };
}
