import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api } from "../../../api/client.ts";
import { changeErrorText, errorCodeOf, errorTextAt } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Field } from "../../../components/Field.tsx";
import { FormDialog } from "../../../components/FormDialog.tsx";
import { formatUsd } from "../../../components/format.ts";
import { Segmented } from "../../../components/Segmented.tsx";
import { toast } from "../../../components/toast.ts";
import { useKept } from "../../../components/use-kept-draft.ts";
import { newIdempotencyKey } from "../../keys/idempotency.ts";
import { askAgain, showAccount } from "./changes.ts";
import { Reason } from "./Reason.tsx";
import { nanoUsdOf, usdHint } from "./usd.ts";

type Direction = "grant" | "deduct";

const DIRECTIONS: readonly { readonly value: Direction; readonly label: string }[] = [
  { value: "grant", label: "Grant" },
  { value: "deduct", label: "Deduct" },
];

interface WrittenGrant {
  readonly direction: Direction;
  /** As typed. */
  readonly amount: string;
  readonly reason: string;
  readonly idempotencyKey: string;
}

interface GrantCreditProps {
  readonly account: AccountDetails;
  readonly onClose: () => void;
}

/** Grants credit to the account or takes it back. */
export function GrantCredit({ account: { id, name, balanceNanoUsd }, onClose }: GrantCreditProps) {
  // One key for the life of the dialog. Once an attempt was recorded, the service refuses a repeat that was edited.
  const [newKey] = useState(newIdempotencyKey);
  // The key is kept with the rest: an attempt during which the session ended may have been recorded.
  const [written, setWritten] = useKept<WrittenGrant>(`of credit of ${id}`, {
    direction: "grant",
    amount: "",
    reason: "",
    idempotencyKey: newKey,
  });
  const { direction, amount, reason, idempotencyKey } = written;
  const write = (change: Partial<WrittenGrant>) => setWritten({ ...written, ...change });
  const amountField = useRef<HTMLInputElement>(null);
  const [isChecked, setChecked] = useState(false);
  const grant = useMutation(
    api.operator.accounts.grantCredits.mutationOptions({
      onSuccess: (answer) => {
        showAccount(id, answer);
        // A deduction takes at most what the account has free.
        toast(doneText(answer.amountNanoUsd), `The new balance is ${formatUsd(answer.balanceNanoUsd)}.`);
        onClose();
      },
      onSettled: askAgain,
    }),
  );
  const nanoUsd = nanoUsdOf(amount);
  const change = nanoUsd === null || nanoUsd === 0n ? null : direction === "grant" ? nanoUsd : -nanoUsd;
  const submit = () => {
    setChecked(true);
    if (change !== null) grant.mutate({ id, amountNanoUsd: change, reason, idempotencyKey });
  };
  const verb = direction === "grant" ? "Grant" : "Deduct";
  return (
    <FormDialog
      title={`Grant or deduct credit of “${name}”`}
      action={nanoUsd === null || nanoUsd === 0n ? verb : `${verb} ${formatUsd(nanoUsd)}`}
      isPending={grant.isPending}
      error={formErrorOf(grant.error)}
      initialFocus={amountField}
      onSubmit={submit}
      onClose={onClose}
    >
      <div>
        <Segmented
          label="Grant or deduct"
          value={direction}
          options={DIRECTIONS}
          onChange={(chosen) => write({ direction: chosen })}
        />
      </div>
      <Field
        label="Amount in US dollars"
        inputMode="decimal"
        autoComplete="off"
        ref={amountField}
        required
        value={amount}
        error={isChecked && change === null ? usdHint(amount) : errorTextAt(grant.error, "amountNanoUsd")}
        hint={balanceText(balanceNanoUsd, change ?? 0n)}
        onChange={(event) => write({ amount: event.target.value })}
      />
      <Reason
        required
        value={reason}
        onChange={(text) => write({ reason: text })}
        error={errorTextAt(grant.error, "reason")}
      />
    </FormDialog>
  );
}

/** What a change makes of a balance. A deduction takes at most what the account has. */
function balanceText(balanceNanoUsd: bigint, change: bigint): string {
  const after = balanceNanoUsd + change;
  if (change !== 0n && after >= 0n) return `New balance: ${formatUsd(after)}.`;
  const balance = `The balance is ${formatUsd(balanceNanoUsd)}.`;
  return after < 0n ? `${balance} No more than that is deducted.` : balance;
}

function formErrorOf(error: unknown): string | null {
  if (errorCodeOf(error) === "idempotency_key_reused") {
    return "An earlier attempt was recorded. Close this dialog and look at the account's Credit tab before you try again.";
  }
  const advice =
    "The change may have been recorded. You can try again: this dialog records at most one change.";
  return changeErrorText(error, ["amountNanoUsd", "reason"], advice);
}

function doneText(amountNanoUsd: bigint): string {
  return amountNanoUsd > 0n ? `${formatUsd(amountNanoUsd)} granted` : `${formatUsd(-amountNanoUsd)} deducted`;
}
