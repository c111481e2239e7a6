import { useState } from "react";
import { Field } from "../../components/Field.tsx";
import { FormDialog } from "../../components/FormDialog.tsx";
import { JsonField } from "./JsonField.tsx";
import { nameProblem, schemaProblem, type ToolDefinition } from "./tools.ts";

interface ToolDialogProps {
  readonly tool: ToolDefinition;
  /** Whether the tool is not in the request yet. */
  readonly isNew: boolean;
  /** The names of the other tools. */
  readonly others: readonly string[];
  readonly save: (tool: ToolDefinition) => void;
  readonly onClose: () => void;
}

/** A form for a tool: its name, description and the JSON schema of its arguments. */
export function ToolDialog({ tool: before, isNew, others, save, onClose }: ToolDialogProps) {
  const [tool, setTool] = useState(before);
  const [isSubmitted, setSubmitted] = useState(false);
  const wrongName = nameProblem(tool.name, others);
  const wrongSchema = schemaProblem(tool.parameters);
  const submit = () => {
    setSubmitted(true);
    if (wrongName === undefined && wrongSchema === undefined) save(tool);
  };
  return (
    <FormDialog
      title={isNew ? "Add a tool" : "Edit the tool"}
      action={isNew ? "Add tool" : "Save tool"}
      isPending={false}
      error={null}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={tool.name}
        autoComplete="off"
        spellCheck={false}
        error={isSubmitted || tool.name !== "" ? wrongName : undefined}
        onChange={({ target }) => setTool({ ...tool, name: target.value })}
      />
      <Field
        label="Description"
        hint="The model uses it to decide when to call the tool."
        value={tool.description}
        autoComplete="off"
        onChange={({ target }) => setTool({ ...tool, description: target.value })}
      />
      <JsonField
        label="Arguments (JSON schema)"
        value={tool.parameters}
        problem={wrongSchema}
        hint="The playground calls nothing. When the model calls the tool, you enter the result."
        onChange={(parameters) => setTool({ ...tool, parameters })}
      />
    </FormDialog>
  );
}
