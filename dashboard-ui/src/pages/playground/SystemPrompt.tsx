import { useId } from "react";
import formStyles from "../../components/form.module.css";

interface SystemPromptProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The field for the system prompt. */
export function SystemPrompt({ value, onChange }: SystemPromptProps) {
  const id = useId();
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>System prompt</label>
      <textarea
        id={id}
        dir="auto"
        rows={2}
        placeholder="None"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  );
}
