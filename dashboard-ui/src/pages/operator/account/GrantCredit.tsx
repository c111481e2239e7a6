import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { errorCodeOf, errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Field } from "../../../components/Field.tsx";
import { FormDialog } from "../../../components/FormDialog.tsx";
import { formatUsd } from "../../../components/format.ts";
import { Segmented } from "../../../components/Segmented.tsx";
import { toast } from "../../../components/toast.ts";
import { newIdempotencyKey } from "../../keys/idempotency.ts";
import { askAgain, showAccount } from "./changes.ts";
import { Reason } from "./Reason.tsx";
import { nanoUsdOf } from "./usd.ts";

type Direction = "grant" | "deduct";

const DIRECTIONS: readonly { readonly value: Direction; readonly label: string }[] = [
  { value: "grant", label: "Grant" },
  { value: "deduct", label: "Deduct" },
];

interface GrantCreditProps {
  readonly account: AccountDetails;
  readonly onClose: () => void;
}

/** Grants credit to the account or takes it back. */
export function GrantCredit({ account: { id, balanceNanoUsd }, onClose }: GrantCreditProps) {
  const [direction, setDirection] = useState<Direction>("grant");
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const [isChecked, setChecked] = useState(false);
  // What the dialog says is granted once, however often it is sent.
  const [idempotencyKey, setKey] = useState(newIdempotencyKey);
  const grant = useMutation(
    api.operator.accounts.grantCredits.mutationOptions({
      onSuccess: (answer, { amountNanoUsd }) => {
        showAccount(id, answer);
        toast(doneText(amountNanoUsd), `The new balance is ${formatUsd(answer.balanceNanoUsd)}.`);
        onClose();
      },
      onSettled: askAgain,
    }),
  );
  const written = nanoUsdOf(amount);
  const change = written === null || written === 0n ? null : direction === "grant" ? written : -written;
  const submit = () => {
    setChecked(true);
    if (change !== null) grant.mutate({ id, amountNanoUsd: change, reason, idempotencyKey });
  };
  const startOver = () => {
    grant.reset();
    setKey(newIdempotencyKey());
  };
  const verb = direction === "grant" ? "Grant" : "Deduct";
  return (
    <FormDialog
      title="Grant or deduct credit"
      action={written === null || written === 0n ? verb : `${verb} ${formatUsd(written)}`}
      isPending={grant.isPending}
      error={formErrorOf(grant.error)}
      onSubmit={submit}
      onClose={onClose}
    >
      <div>
        <Segmented
          label="Grant or deduct"
          value={direction}
          options={DIRECTIONS}
          onChange={(next) => {
            startOver();
            setDirection(next);
          }}
        />
      </div>
      <Field
        label="Amount in US dollars"
        inputMode="decimal"
        autoComplete="off"
        required
        value={amount}
        error={
          isChecked && change === null
            ? "Enter an amount in US dollars, such as 25 or 0.005."
            : errorTextAt(grant.error, "amountNanoUsd")
        }
        hint={
          change === null
            ? `The balance is ${formatUsd(balanceNanoUsd)}.`
            : `New balance: ${formatUsd(balanceNanoUsd + change)}.`
        }
        onChange={(event) => {
          startOver();
          setAmount(event.target.value);
        }}
      />
      <Reason
        required
        value={reason}
        onChange={(next) => {
          startOver();
          setReason(next);
        }}
        error={errorTextAt(grant.error, "reason")}
      />
    </FormDialog>
  );
}

function formErrorOf(error: Parameters<typeof errorTextBeside>[0]): string | null {
  const text = errorTextBeside(error, ["amountNanoUsd", "reason"]);
  // The same again is booked once. After an edit it is another grant.
  return text === null || errorCodeOf(error) !== null
    ? text
    : `${text} The change may have been recorded. Try again without editing it, which records it once, or check the history.`;
}

function doneText(amountNanoUsd: bigint): string {
  return amountNanoUsd > 0n ? `${formatUsd(amountNanoUsd)} granted` : `${formatUsd(-amountNanoUsd)} deducted`;
}
