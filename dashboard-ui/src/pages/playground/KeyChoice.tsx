import { Link } from "@tanstack/react-router";
import type { ListedKey } from "../../api/types.ts";
import { Notice } from "../../components/Notice.tsx";
import { Select } from "../../components/Select.tsx";
import { KeyField } from "../audit/KeyField.tsx";
import { keysInRotation } from "./choose-key.ts";

interface KeyChoiceProps {
  /** The active keys. */
  readonly keys: readonly ListedKey[];
  /** Whether the account has further keys, which are found by a search. */
  readonly hasMore: boolean;
  readonly value: ListedKey | undefined;
  readonly onChange: (id: string) => void;
}

/** The choice of the key for requests. */
export function KeyChoice({ keys, hasMore, value, onChange }: KeyChoiceProps) {
  if (keys.length === 0) {
    return (
      <Notice tone="warning">
        <p>
          The account has no active key. Requests need one. <Link to="/settings/keys">Create a key</Link>
        </p>
      </Notice>
    );
  }
  const rotating = keysInRotation(keys);
  if (hasMore) {
    return (
      <KeyField
        value={value?.id ?? ""}
        chosen={value}
        hint={hintFor(value, rotating)}
        placeholder="Choose a key"
        isOptional={false}
        onCommit={onChange}
      />
    );
  }
  const options = keys.map(({ id, name, keyId }) => ({
    value: id,
    label: `${name} (…${keyId})${rotating.has(id) ? ", in rotation" : ""}`,
  }));
  return (
    <Select
      label="Key"
      hint={hintFor(value, rotating)}
      value={value?.id ?? ""}
      options={value === undefined ? [{ value: "", label: "Choose a key" }, ...options] : options}
      onChange={({ target }) => {
        if (target.value !== "") onChange(target.value);
      }}
    />
  );
}

function hintFor(value: ListedKey | undefined, rotating: ReadonlySet<string>): string {
  if (value === undefined) return "Every key is in a rotation, which watches its traffic.";
  if (rotating.has(value.id))
    return "This key is in a rotation, which counts requests from here as its traffic.";
  return "Requests are logged under this key.";
}
