import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import { RowMenu } from "../../components/RowMenu.tsx";
import { Select } from "../../components/Select.tsx";
import { toast } from "../../components/toast.ts";
import { Pencil, Trash2 } from "../../icons/icons.ts";
import styles from "./ToolList.module.css";
import { EXAMPLE_TOOL, type ToolChoice, type ToolDefinition } from "./tools.ts";

const toolDialog = lazyCode(async () => (await import("./ToolDialog.tsx")).ToolDialog);

interface ToolListProps {
  readonly tools: readonly ToolDefinition[];
  readonly choice: ToolChoice;
  readonly onChange: (tools: readonly ToolDefinition[]) => void;
  readonly onChoose: (choice: ToolChoice) => void;
}

/** The tools of the request. */
export function ToolList({ tools, choice, onChange, onChoose }: ToolListProps) {
  /** The index of the tool in the form; the number of tools for a new one. */
  const [edited, setEdited] = useState<number | null>(null);
  const save = (tool: ToolDefinition) => {
    onChange(
      edited === tools.length ? [...tools, tool] : tools.map((one, at) => (at === edited ? tool : one)),
    );
    setEdited(null);
    toast(`Tool “${tool.name}” saved`);
  };
  const remove = (tool: ToolDefinition) => {
    onChange(tools.filter((one) => one !== tool));
    toast(`Tool “${tool.name}” removed`);
  };
  const example = tools.length === 0 ? EXAMPLE_TOOL : { ...EXAMPLE_TOOL, name: "", description: "" };
  return (
    <fieldset className={styles.tools}>
      <legend>Tools</legend>
      {tools.length === 0 ? null : (
        <ul className={styles.list}>
          {tools.map((tool, index) => (
            <li key={tool.name}>
              <code>{tool.name}</code>
              <RowMenu
                of={tool.name}
                parts={[
                  [
                    {
                      label: "Edit",
                      icon: <Pencil size={16} aria-hidden="true" />,
                      onSelect: () => setEdited(index),
                    },
                  ],
                  [
                    {
                      label: "Remove",
                      icon: <Trash2 size={16} aria-hidden="true" />,
                      tone: "danger",
                      onSelect: () => remove(tool),
                    },
                  ],
                ]}
              />
            </li>
          ))}
        </ul>
      )}
      <div>
        <Button onClick={() => setEdited(tools.length)}>Add a tool</Button>
      </div>
      {tools.length === 0 ? null : (
        <Select
          label="Use of tools"
          value={choice}
          options={choicesOf(tools)}
          onChange={({ target }) => onChoose(choiceFrom(target.value))}
        />
      )}
      {edited === null ? null : (
        <LazyDialog
          code={toolDialog}
          props={{
            tool: tools[edited] ?? example,
            isNew: edited === tools.length,
            others: tools.filter((_, at) => at !== edited).map(({ name }) => name),
            save,
            onClose: () => setEdited(null),
          }}
        />
      )}
    </fieldset>
  );
}

function choicesOf(tools: readonly ToolDefinition[]) {
  return [
    { value: "auto", label: "The model decides" },
    { value: "required", label: "At least one call" },
    { value: "none", label: "No calls" },
    ...tools.map(({ name }) => ({ value: `function:${name}`, label: `Call ${name}` })),
  ];
}

function choiceFrom(value: string): ToolChoice {
  if (value === "required" || value === "none") return value;
  return value.startsWith("function:") ? `function:${value.slice("function:".length)}` : "auto";
}
