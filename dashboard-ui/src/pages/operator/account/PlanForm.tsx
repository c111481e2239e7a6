import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api } from "../../../api/client.ts";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import formStyles from "../../../components/form.module.css";
import { Notice } from "../../../components/Notice.tsx";
import panelStyles from "../../../components/Panel.module.css";
import { Select } from "../../../components/Select.tsx";
import { isPlan, PLANS, type Plan } from "../plans.ts";
import { changeOptions, clearedOf } from "./changes.ts";
import { givenReason, Reason } from "./Reason.tsx";

const WORDS: Readonly<Record<Plan, string>> = {
  free: "Up to 50 active keys. IP rules are not enforced.",
  pro: "Unlimited keys. IP rules are not enforced.",
  enterprise: "Unlimited keys. IP rules are enforced.",
};

/** The account's plan, and a form to change it. */
export function PlanForm({ account }: { readonly account: AccountDetails }) {
  // Without a choice, the form shows the account's current plan.
  const [chosen, setChosen] = useState<Plan | null>(null);
  const [reason, setReason] = useState("");
  const { id } = account;
  const setPlan = useMutation(api.operator.accounts.setPlan.mutationOptions(changeOptions(id)));
  const plan = chosen ?? account.plan;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const clear = () => {
      setChosen(clearedOf(chosen, null));
      setReason(clearedOf(reason, ""));
    };
    setPlan.mutate({ id, plan, ...givenReason(reason) }, { onSuccess: clear });
  };
  const formError = errorTextBeside(setPlan.error, ["reason"]);
  const notices = setPlan.data?.notices ?? [];
  return (
    <section className={panelStyles.panel} aria-labelledby="plan">
      <h2 id="plan">Plan</h2>
      <form className={formStyles.form} onSubmit={submit}>
        {formError === null ? null : <Notice tone="error">{formError}</Notice>}
        <Select
          label="Plan"
          hint={WORDS[plan]}
          options={PLANS}
          value={plan}
          onChange={({ target }) => {
            if (!setPlan.isPending) setPlan.reset();
            if (isPlan(target.value)) setChosen(target.value);
          }}
        />
        <Reason value={reason} onChange={setReason} error={errorTextAt(setPlan.error, "reason")} />
        <div>
          <Button type="submit" busy={setPlan.isPending}>
            Save plan
          </Button>
        </div>
      </form>
      <p role="status">{setPlan.data === undefined ? "" : `Plan changed to ${setPlan.data.account.plan}.`}</p>
      {notices.map((notice) => (
        <Notice key={notice} tone="warning">
          <p>{notice}</p>
        </Notice>
      ))}
    </section>
  );
}
