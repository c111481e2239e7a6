import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, client, queryClient } from "../../../api/client.ts";
import { changeErrorText, errorTextAt } from "../../../api/errors.ts";
import { Field } from "../../../components/Field.tsx";
import { FormDialog } from "../../../components/FormDialog.tsx";
import { Select } from "../../../components/Select.tsx";
import { ShownOnce } from "../../../components/ShownOnce.tsx";
import { useKept } from "../../../components/use-kept-draft.ts";
import { isPlan, PLANS, type Plan } from "../plans.ts";

interface CreatedAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

/** Creates an account and shows its password until the operator confirms that they have stored it. */
export function CreateAccount({ onClose }: { readonly onClose: () => void }) {
  const [email, setEmail] = useKept("of the e-mail of a new account", "");
  const [name, setName] = useKept("of the name of a new account", "");
  const [plan, setPlan] = useKept<Plan>("of the plan of a new account", "free");
  // Only this state holds the password. The result of a mutation would also be cached.
  const [created, setCreated] = useState<CreatedAccount | null>(null);
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: async () => {
      const made = await client.operator.accounts.create.mutate({ email, accountName: name, plan });
      const { id } = made.account;
      setCreated({ id, name: made.account.name, email, password: made.password });
    },
    onSettled: () => {
      void queryClient.invalidateQueries(api.operator.accounts.list.pathFilter());
      void queryClient.invalidateQueries(api.operator.audit.pathFilter());
    },
  });

  if (created !== null) {
    return (
      <ShownOnce
        title={`Account “${created.name}” created`}
        what="password"
        secret={created.password}
        lead={<p>{created.email} can sign in with this password and change it under Settings → Account.</p>}
        onClose={() => {
          onClose();
          void navigate({ to: "/operator/accounts/$accountId", params: { accountId: created.id } });
        }}
      />
    );
  }

  return (
    <FormDialog
      title="Create account"
      action="Create account"
      isPending={create.isPending}
      error={changeErrorText(
        create.error,
        ["email", "accountName"],
        "The account may have been created. Look for it in the list before you try again. If it is there, reset its user's password.",
      )}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <Field
        label="E-mail"
        hint="Address of the account's first user."
        type="email"
        required
        maxLength={254}
        autoComplete="off"
        value={email}
        error={errorTextAt(create.error, "email")}
        onChange={(event) => setEmail(event.target.value)}
      />
      <Field
        label="Account name"
        required
        maxLength={80}
        autoComplete="off"
        value={name}
        error={errorTextAt(create.error, "accountName")}
        onChange={(event) => setName(event.target.value)}
      />
      <Select
        label="Plan"
        options={PLANS}
        value={plan}
        onChange={({ target }) => {
          if (isPlan(target.value)) setPlan(target.value);
        }}
      />
    </FormDialog>
  );
}
