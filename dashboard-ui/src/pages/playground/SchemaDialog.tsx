import { useState } from "react";
import { FormDialog } from "../../components/FormDialog.tsx";
import { JsonField } from "./JsonField.tsx";
import { schemaProblem } from "./tools.ts";

interface SchemaDialogProps {
  readonly schema: string;
  readonly save: (schema: string) => void;
  readonly onClose: () => void;
}

/** A form for the JSON schema of answers. */
export function SchemaDialog({ schema: before, save, onClose }: SchemaDialogProps) {
  const [schema, setSchema] = useState(before);
  const problem = schemaProblem(schema);
  return (
    <FormDialog
      title="Schema of the answer"
      action="Save schema"
      isPending={false}
      error={null}
      onSubmit={() => {
        if (problem === undefined) save(schema);
      }}
      onClose={onClose}
    >
      <JsonField
        label="JSON schema"
        value={schema}
        problem={problem}
        hint="Sent as response_format. Answers are checked against it."
        rows={14}
        onChange={setSchema}
      />
    </FormDialog>
  );
}
