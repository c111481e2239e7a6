import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, client, queryClient } from "../../api/client.ts";
import { changeErrorText, errorTextAt } from "../../api/errors.ts";
import { Field } from "../../components/Field.tsx";
import { FormDialog } from "../../components/FormDialog.tsx";
import { Select } from "../../components/Select.tsx";
import { ShownOnce, TryWithCurl } from "../../components/ShownOnce.tsx";
import { useKept } from "../../components/use-kept-draft.ts";

const NEVER = "never";
const EXPIRY = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: NEVER, label: "Never" },
];

/** Asks for a name and creates a token, which is shown until the user confirms that they have stored it. */
export function CreateToken({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useKept("of the name of a new token", "");
  const [expiry, setExpiry] = useKept("of the expiry of a new token", "90");
  // Only this state holds the token. The result of a mutation would also be cached.
  const [created, setCreated] = useState<{ readonly name: string; readonly token: string } | null>(null);
  const create = useMutation({
    mutationFn: async () => {
      const input = expiry === NEVER ? { name } : { name, expiresInDays: Number(expiry) };
      setCreated(await client.tokens.create.mutate(input));
    },
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: api.tokens.list.queryKey() });
    },
  });
  if (created !== null) return <CreatedToken name={created.name} token={created.token} onClose={onClose} />;

  return (
    <FormDialog
      title="Create management token"
      action="Create token"
      isPending={create.isPending}
      error={changeErrorText(
        create.error,
        ["name"],
        "The token may have been created. Look for it in the list before you try again: it can't be shown any more, so revoke it.",
      )}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <Field
        label="Name"
        hint="For example “key rotation”."
        required
        maxLength={64}
        autoComplete="off"
        value={name}
        error={errorTextAt(create.error, "name")}
        onChange={(event) => setName(event.target.value)}
      />
      <Select
        label="Expires in"
        options={EXPIRY}
        value={expiry}
        onChange={(event) => setExpiry(event.target.value)}
      />
    </FormDialog>
  );
}

interface CreatedTokenProps {
  readonly name: string;
  readonly token: string;
  readonly onClose: () => void;
}

function CreatedToken({ name, token, onClose }: CreatedTokenProps) {
  const info = useQuery(api.service.info.queryOptions());
  return (
    <ShownOnce title={`Token “${name}” created`} what="token" secret={token} onClose={onClose}>
      <TryWithCurl
        command={`curl ${info.data?.publicUrl ?? location.origin}/trpc/keys.list \\\n  -H "Authorization: Bearer ${token}"`}
      />
    </ShownOnce>
  );
}
