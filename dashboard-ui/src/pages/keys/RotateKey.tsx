import { client } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";
import { Field } from "../../components/Field.tsx";
import { FormDialog } from "../../components/FormDialog.tsx";
import { formatSpan } from "../../components/format.ts";
import { Select } from "../../components/Select.tsx";
import { useKept } from "../../components/use-kept-draft.ts";
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

/** Creates a key's successor and shows it once. The old key keeps working. */
export function RotateKey({ apiKey, onClose }: RotateKeyProps) {
  const [name, setName] = useKept(`of the name of the successor of ${apiKey.id}`, "");
  const [idleAfterSeconds, setIdleAfterSeconds] = useKept(`of the quiet time of ${apiKey.id}`, String(DAY_S));
  const { created, create, isPending, nameError, formError } = useKeyCreation(
    `the successor of ${apiKey.id}`,
    (idempotencyKey) =>
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
            This key replaces “{apiKey.name}”, which works until you revoke it. This page tells you when “
            {apiKey.name}” has been unused for {formatSpan(Number(idleAfterSeconds))}.
          </p>
        }
        onClose={onClose}
      />
    );
  }

  return (
    <FormDialog
      title={`Rotate “${apiKey.name}”`}
      action="Create key"
      isPending={isPending}
      error={formError}
      onSubmit={create}
      onClose={onClose}
    >
      <p>
        Creates a new key to replace <code>…{apiKey.keyId}</code>. Both keys work until you revoke the old
        one.
      </p>
      <Field
        label="Name of the new key"
        hint="Leave empty to use the old name with a number."
        maxLength={64}
        autoComplete="off"
        value={name}
        error={nameError}
        onChange={(event) => setName(event.target.value)}
      />
      <Select
        label="Suggest revoking the old key after"
        options={QUIET_AFTER}
        value={idleAfterSeconds}
        onChange={(event) => setIdleAfterSeconds(event.target.value)}
      />
    </FormDialog>
  );
}
