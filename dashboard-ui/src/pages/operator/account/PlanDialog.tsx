import { useMutation } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import { errorTextAt, errorTextBeside } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { FormDialog } from "../../../components/FormDialog.tsx";
import { Select } from "../../../components/Select.tsx";
import { toast } from "../../../components/toast.ts";
import { useKept } from "../../../components/use-kept-draft.ts";
import { isPlan, PLANS, type Plan, planLabel } from "../plans.ts";
import { changeOptions } from "./changes.ts";
import { givenReason, Reason } from "./Reason.tsx";

const WORDS: Readonly<Record<Plan, string>> = {
  free: "Up to 50 active keys. IP rules are not enforced.",
  pro: "Unlimited keys. IP rules are not enforced.",
  enterprise: "Unlimited keys. IP rules are enforced.",
};

interface PlanDialogProps {
  readonly account: AccountDetails;
  readonly onClose: () => void;
}

/** Changes the account's plan. */
export function PlanDialog({ account: { id, ...account }, onClose }: PlanDialogProps) {
  const [plan, setPlan] = useKept<Plan>(`of the plan of ${id}`, account.plan);
  const [reason, setReason] = useKept(`of the reason of the plan of ${id}`, "");
  const { onSuccess, onSettled } = changeOptions(id);
  const change = useMutation(
    api.operator.accounts.setPlan.mutationOptions({
      onSuccess: (answer) => {
        onSuccess(answer);
        toast(`Plan changed to ${planLabel(answer.account.plan)}`, answer.notices.join(" "));
        onClose();
      },
      onSettled,
    }),
  );
  return (
    <FormDialog
      title={`Change plan of “${account.name}”`}
      action="Save plan"
      isPending={change.isPending}
      error={errorTextBeside(change.error, ["reason"])}
      onSubmit={() => change.mutate({ id, plan, ...givenReason(reason) })}
      onClose={onClose}
    >
      <Select
        label="Plan"
        hint={WORDS[plan]}
        options={PLANS}
        value={plan}
        onChange={({ target }) => {
          if (isPlan(target.value)) setPlan(target.value);
        }}
      />
      <Reason value={reason} onChange={setReason} error={errorTextAt(change.error, "reason")} />
    </FormDialog>
  );
}
