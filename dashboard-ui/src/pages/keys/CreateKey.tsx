import { client } from "../../api/client.ts";
import { Field } from "../../components/Field.tsx";
import { FormDialog } from "../../components/FormDialog.tsx";
import { useKept } from "../../components/use-kept-draft.ts";
import { CreatedKey } from "./CreatedKey.tsx";
import { useKeyCreation } from "./use-key-creation.ts";

/** Asks for a name and creates a key, which is shown until the user confirms that they have stored it. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useKept("of the name of a new key", "");
  const { created, create, isPending, nameError, formError } = useKeyCreation("a new key", (idempotencyKey) =>
    client.keys.create.mutate({ name, idempotencyKey }),
  );
  if (created !== null) return <CreatedKey name={created.name} keyString={created.key} onClose={onClose} />;

  return (
    <FormDialog
      title="Create API key"
      action="Create key"
      isPending={isPending}
      error={formError}
      onSubmit={create}
      onClose={onClose}
    >
      <Field
        label="Name"
        hint="Identifies the key in the request log, for example “production”."
        required
        maxLength={64}
        autoComplete="off"
        value={name}
        error={nameError}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  );
}
