import { Link } from "@tanstack/react-router";
import type { ListedKey } from "../../api/types.ts";
import { Notice } from "../../components/Notice.tsx";
import { Select } from "../../components/Select.tsx";

interface KeyChoiceProps {
  /** The active keys. */
  readonly keys: readonly ListedKey[];
  readonly value: ListedKey | undefined;
  readonly onChange: (id: string) => void;
}

/** The choice of the key for requests. */
export function KeyChoice({ keys, value, onChange }: KeyChoiceProps) {
  if (value === undefined) {
    return (
      <Notice tone="warning">
        <p>
          The account has no active key. Requests need one. <Link to="/settings/keys">Create a key</Link>
        </p>
      </Notice>
    );
  }
  return (
    <Select
      label="Key"
      hint="Requests are logged under this key."
      value={value.id}
      options={keys.map(({ id, name, keyId }) => ({ value: id, label: `${name} (…${keyId})` }))}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
