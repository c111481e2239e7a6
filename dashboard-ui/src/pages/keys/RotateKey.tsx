import { type SubmitEvent, useState } from "react";
import { client } from "../../api/client.ts";
import { formatSpan } from "../../api/format.ts";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Notice } from "../../components/Notice.tsx";
import { Select } from "../../components/Select.tsx";
import { CreatedKey } from "./CreatedKey.tsx";
import { useKeyCreation } from "./use-key-creation.ts";

const DAY_S = 24 * 60 * 60;
const QUIET_AFTER = [
  { value: String(60 * 60), label: "1 hour" },
  { value: String(DAY_S), label: "1 day" },
  { value: String(7 * DAY_S), label: "1 week" },
];

interface RotateKeyProps {
  readonly apiKey: Pick<ListedKey, "id" | "name" | "keyId">;
  readonly onClose: () => void;
}

/** Creates the key that is to take over from another, and shows it once. The other goes on working. */
export function RotateKey({ apiKey, onClose }: RotateKeyProps) {
  const [name, setName] = useState("");
  const [idleAfterSeconds, setIdleAfterSeconds] = useState(String(DAY_S));
  const { created, create, isPending, nameError, formError } = useKeyCreation((idempotencyKey) =>
    client.keys.rotate.mutate({
      id: apiKey.id,
      ...(name.trim() === "" ? {} : { name }),
      idleAfterSeconds: Number(idleAfterSeconds),
      idempotencyKey,
    }),
  );
  if (created !== null) {
    return (
      <CreatedKey
        name={created.name}
        keyString={created.key}
        lead={
          <p>
            It is to take the place of “{apiKey.name}”, which works until you revoke it. This page says when
            nobody has used “{apiKey.name}” for {formatSpan(Number(idleAfterSeconds))}.
          </p>
        }
        onClose={onClose}
      />
    );
  }

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create();
  };
  return (
    <Dialog title={`Rotate “${apiKey.name}”`} onDismiss={isPending ? undefined : onClose}>
      <form onSubmit={submit} className="form">
        <p>
          A new key is created to take over from <code>…{apiKey.keyId}</code>. Both work until you revoke the
          old one.
        </p>
        {formError === null ? null : <Notice tone="error">{formError}</Notice>}
        <Field
          label="Name of the new key"
          hint="Left empty, it is named like the old key, with a number."
          maxLength={64}
          autoComplete="off"
          value={name}
          error={nameError}
          onChange={(event) => setName(event.target.value)}
        />
        <Select
          label="Tell that the old key can be revoked when it has been unused for"
          options={QUIET_AFTER}
          value={idleAfterSeconds}
          onChange={(event) => setIdleAfterSeconds(event.target.value)}
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
