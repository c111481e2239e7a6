import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import { Select } from "../../components/Select.tsx";
import { toast } from "../../components/toast.ts";
import styles from "./PlaygroundLayout.module.css";
import { EXAMPLE_SCHEMA, type OutputFormat, schemaProblem } from "./tools.ts";

const schemaDialog = lazyCode(async () => (await import("./SchemaDialog.tsx")).SchemaDialog);

interface OutputChoiceProps {
  readonly value: OutputFormat;
  readonly onChange: (format: OutputFormat) => void;
}

const OPTIONS = [
  { value: "text", label: "Text" },
  { value: "json_object", label: "JSON" },
  { value: "json_schema", label: "JSON with a schema" },
];

/** The choice of what an answer has to be. */
export function OutputChoice({ value, onChange }: OutputChoiceProps) {
  const [isEditing, setEditing] = useState(false);
  const choose = (kind: string) => {
    if (kind === "text" || kind === "json_object") onChange({ ...value, kind });
    if (kind !== "json_schema") return;
    onChange({ kind, schema: value.schema === "" ? EXAMPLE_SCHEMA : value.schema });
  };
  return (
    <div className={styles.setting}>
      <Select
        label="Output"
        value={value.kind}
        options={OPTIONS}
        error={value.kind === "json_schema" ? schemaProblem(value.schema) : undefined}
        {...(value.kind === "json_object" ? { hint: "Describe the fields in a message." } : {})}
        onChange={({ target }) => choose(target.value)}
      />
      {value.kind === "json_schema" ? <Button onClick={() => setEditing(true)}>Edit schema</Button> : null}
      {isEditing ? (
        <LazyDialog
          code={schemaDialog}
          props={{
            schema: value.schema,
            save: (schema) => {
              onChange({ ...value, schema });
              setEditing(false);
              toast("Schema saved");
            },
            onClose: () => setEditing(false),
          }}
        />
      ) : null}
    </div>
  );
}
