import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api } from "../../../api/client.ts";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import { Field } from "../../../components/Field.tsx";
import formStyles from "../../../components/form.module.css";
import { FormError } from "../../../components/Notice.tsx";
import panelStyles from "../../../components/Panel.module.css";
import { toast } from "../../../components/toast.ts";
import { useKept, useKeptDraft } from "../../../components/use-kept-draft.ts";
import { changeOptions, clearedOf } from "./changes.ts";
import styles from "./Limits.module.css";
import { isWritten, LIMITS, type LimitName, limitOf, type WrittenLimits, writtenLimits } from "./limits.ts";
import { givenReason, Reason } from "./Reason.tsx";

const PLAN_DEFAULT = "Plan default";

/** The account's limits that differ from its plan's. */
export function Limits({ account }: { readonly account: AccountDetails }) {
  // A field without a draft shows the current limit, and saving leaves it: another operator may have changed it.
  const [draft, setDraft] = useKeptDraft<Partial<WrittenLimits>>(`of limits of ${account.id}`);
  const [reason, setReason] = useKept(`of the reason of limits of ${account.id}`, "");
  const [isChecked, setChecked] = useState(false);
  const { id } = account;
  const { onSuccess, onSettled } = changeOptions(id);
  const setLimits = useMutation(
    api.operator.accounts.setLimits.mutationOptions({
      onSuccess: (answer) => {
        onSuccess(answer);
        toast("Limits saved");
      },
      onSettled,
    }),
  );
  const written = { ...writtenLimits(account.limits), ...draft };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setChecked(true);
    if (!LIMITS.every(({ name }) => isWritten(written[name]))) return;
    const changed = LIMITS.filter(({ name }) => draft?.[name] !== undefined);
    const limits = Object.fromEntries(changed.map(({ name }) => [name, limitOf(written[name])]));
    const clear = () => {
      setDraft(clearedOf(draft));
      setReason(clearedOf(reason));
      setChecked(false);
    };
    setLimits.mutate({ id, limits, ...givenReason(reason) }, { onSuccess: clear });
  };
  const errorAt = (name: LimitName) =>
    isChecked && !isWritten(written[name])
      ? "Enter a whole number from 1 to 1,000,000,000, or leave the field empty."
      : errorTextAt(setLimits.error, `limits.${name}`);
  const formError = errorTextBeside(setLimits.error, [
    "reason",
    ...LIMITS.map(({ name }) => `limits.${name}`),
  ]);
  return (
    <section className={panelStyles.panel} aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <p>Leave a limit empty to use the default of the {account.plan} plan.</p>
      <form className={formStyles.form} onSubmit={submit}>
        <div className={styles.limitFields}>
          {LIMITS.map(({ name, label }) => (
            <Field
              key={name}
              label={label}
              inputMode="numeric"
              autoComplete="off"
              placeholder={PLAN_DEFAULT}
              value={written[name]}
              error={errorAt(name)}
              onChange={(event) => {
                if (!setLimits.isPending) setLimits.reset();
                setDraft({ ...draft, [name]: event.target.value });
              }}
            />
          ))}
        </div>
        <Reason value={reason} onChange={setReason} error={errorTextAt(setLimits.error, "reason")} />
        <FormError text={formError} />
        <div>
          <Button type="submit" busy={setLimits.isPending}>
            Save limits
          </Button>
        </div>
      </form>
    </section>
  );
}
