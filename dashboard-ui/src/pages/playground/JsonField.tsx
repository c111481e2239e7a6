import { useId } from "react";
import { classes } from "../../components/classes.ts";
import formStyles from "../../components/form.module.css";
import styles from "./JsonField.module.css";

interface JsonFieldProps {
  readonly label: string;
  readonly value: string;
  readonly problem: string | undefined;
  readonly hint?: string;
  readonly rows?: number;
  readonly onChange: (text: string) => void;
}

/** A field for JSON, which says what is wrong with it while it is typed. */
export function JsonField({ label, value, problem, hint, rows = 10, onChange }: JsonFieldProps) {
  const id = useId();
  return (
    <div className={formStyles.field}>
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className={classes(styles.json)}
        rows={rows}
        value={value}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-note`}
        onChange={({ target }) => onChange(target.value)}
      />
      <p id={`${id}-note`} className={problem === undefined ? formStyles.hint : formStyles.fieldError}>
        {problem ?? hint}
      </p>
    </div>
  );
}
