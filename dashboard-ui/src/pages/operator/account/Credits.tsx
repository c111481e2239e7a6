import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api } from "../../../api/client.ts";
import { errorCodeOf, errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { Field } from "../../../components/Field.tsx";
import formStyles from "../../../components/form.module.css";
import { formatUsd } from "../../../components/format.ts";
import { Notice } from "../../../components/Notice.tsx";
import panelStyles from "../../../components/Panel.module.css";
import { Segmented } from "../../../components/Segmented.tsx";
import textStyles from "../../../components/text.module.css";
import { askAgain, clearedOf, showAccount } from "./changes.ts";
import { Reason } from "./Reason.tsx";
import { nanoUsdOf } from "./usd.ts";

type Direction = "grant" | "deduct";

const DIRECTIONS: readonly { readonly value: Direction; readonly label: string }[] = [
  { value: "grant", label: "Grant" },
  { value: "deduct", label: "Deduct" },
];

/** The account's balance, and a form to grant credit or take it back. */
export function Credits({ account }: { readonly account: AccountDetails }) {
  const [direction, setDirection] = useState<Direction>("grant");
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const [isChecked, setChecked] = useState(false);
  const { id, balanceNanoUsd } = account;
  const grant = useMutation(
    api.operator.accounts.grantCredits.mutationOptions({
      onSuccess: (answer) => showAccount(id, answer),
      onSettled: askAgain,
    }),
  );
  const written = nanoUsdOf(amount);
  const change = written === null || written === 0n ? null : direction === "grant" ? written : -written;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setChecked(true);
    if (change === null) return;
    const clear = () => {
      setAmount(clearedOf(amount, ""));
      setReason(clearedOf(reason, ""));
      setChecked(false);
    };
    grant.mutate({ id, amountNanoUsd: change, reason }, { onSuccess: clear });
  };
  const forget = () => {
    if (!grant.isPending) grant.reset();
  };
  const amountError =
    isChecked && change === null
      ? "Enter an amount in US dollars, such as 25 or 0.005."
      : errorTextAt(grant.error, "amountNanoUsd");
  const formError = errorTextBeside(grant.error, ["amountNanoUsd", "reason"]);
  const verb = direction === "grant" ? "Grant" : "Deduct";
  return (
    <section className={panelStyles.panel} aria-labelledby="credits">
      <div className={panelStyles.panelHead}>
        <h2 id="credits">Credits</h2>
        <p>
          <span className={textStyles.quiet}>Balance</span> <strong>{formatUsd(balanceNanoUsd)}</strong>
        </p>
      </div>
      <form className={formStyles.form} onSubmit={submit}>
        {formError === null ? null : (
          <Notice tone="error">
            <p>
              {formError}
              {/* A retry without checking the balance could grant the credit twice. */}
              {errorCodeOf(grant.error) === null
                ? " Check the audit trail below before you try again: the change may have been recorded."
                : ""}
            </p>
          </Notice>
        )}
        <div>
          <Segmented
            label="Grant or deduct"
            value={direction}
            options={DIRECTIONS}
            onChange={(next) => {
              forget();
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
          error={amountError}
          hint={
            change === null
              ? "For example 25 or 0.005."
              : `New balance: ${formatUsd(balanceNanoUsd + change)}.`
          }
          onChange={(event) => {
            forget();
            setAmount(event.target.value);
          }}
        />
        <Reason required value={reason} onChange={setReason} error={errorTextAt(grant.error, "reason")} />
        <div>
          <Button type="submit" busy={grant.isPending}>
            {written === null || written === 0n ? verb : `${verb} ${formatUsd(written)}`}
          </Button>
        </div>
      </form>
      <p role="status">
        {grant.isSuccess ? doneText(grant.variables.amountNanoUsd, grant.data.balanceNanoUsd) : ""}
      </p>
    </section>
  );
}

function doneText(amountNanoUsd: bigint, balanceNanoUsd: bigint): string {
  const done =
    amountNanoUsd > 0n ? `${formatUsd(amountNanoUsd)} granted` : `${formatUsd(-amountNanoUsd)} deducted`;
  return `${done}. The new balance is ${formatUsd(balanceNanoUsd)}.`;
}
