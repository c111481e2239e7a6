import { type SubmitEvent, useState } from "react";
import { client } from "../../api/client.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Notice } from "../../components/Notice.tsx";
import { CreatedKey } from "./CreatedKey.tsx";
import { useKeyCreation } from "./use-key-creation.ts";

/** Asks for a name, then shows the key: once, and until the person says that they have it. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const { created, create, isPending, nameError, formError } = useKeyCreation((idempotencyKey) =>
    client.keys.create.mutate({ name, idempotencyKey }),
  );
  if (created !== null) return <CreatedKey name={created.name} keyString={created.key} onClose={onClose} />;

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create();
  };
  return (
    <Dialog title="Create API key" onDismiss={isPending ? undefined : onClose}>
      <form onSubmit={submit} className="form">
        {formError === null ? null : <Notice tone="error">{formError}</Notice>}
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
        <div className="dialog-actions">
          <Button onClick={onClose} disabled={isPending}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={isPending}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
