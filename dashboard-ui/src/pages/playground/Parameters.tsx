import { useId, useRef, useState } from "react";
import { classes } from "../../components/classes.ts";
import formStyles from "../../components/form.module.css";
import textStyles from "../../components/text.module.css";
import styles from "./Parameters.module.css";
import { PARAMETERS, type Parameter, type ParameterTexts, problemOf } from "./parameters.ts";

/** The minimum width at which the parameters fit beside the conversation. */
const ROOMY = "(min-width: 1201px)";

interface ParametersProps {
  readonly texts: ParameterTexts;
  readonly stream: boolean;
  readonly onChange: (texts: ParameterTexts) => void;
  readonly onStreamChange: (stream: boolean) => void;
}

/** The form of the request's parameters. Empty ones are not sent. */
export function Parameters({ texts, stream, onChange, onStreamChange }: ParametersProps) {
  const [isOpen, setOpen] = useState(() => matchMedia(ROOMY).matches);
  const set = Object.values(texts).filter((text) => text !== "").length;
  return (
    <details
      className={styles.parameters}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        Parameters <span className={textStyles.small}>{set === 0 ? "none set" : `${set} set`}</span>
      </summary>
      <div className={formStyles.form}>
        <label className={formStyles.check}>
          <input type="checkbox" checked={stream} onChange={({ target }) => onStreamChange(target.checked)} />
          Stream the answer
        </label>
        {PARAMETERS.map((parameter) => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            text={texts[parameter.name] ?? ""}
            problem={problemOf(parameter, texts)}
            onChange={(text) => onChange({ ...texts, [parameter.name]: text })}
          />
        ))}
      </div>
    </details>
  );
}

interface ParameterFieldProps {
  readonly parameter: Parameter;
  readonly text: string;
  readonly problem: string | undefined;
  readonly onChange: (text: string) => void;
}

function ParameterField({ parameter, text, problem, onChange }: ParameterFieldProps) {
  const { name, kind, hint } = parameter;
  const id = useId();
  const field = useRef<HTMLElement>(null);
  const attach = (element: HTMLElement | null) => {
    field.current = element;
  };
  const shared = {
    id,
    ref: attach,
    value: text,
    "aria-describedby": `${id}-note`,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onChange(target.value),
  };
  return (
    <div className={kind === "lines" ? formStyles.field : classes(formStyles.field, styles.parameter)}>
      <label htmlFor={id}>
        <code>{name}</code>
      </label>
      <div className={styles.parameterInput}>
        {kind === "format" ? (
          <select {...shared}>
            <option value="">not set</option>
            <option value="text">text</option>
            <option value="json_object">JSON</option>
          </select>
        ) : kind === "lines" ? (
          <textarea {...shared} rows={1} placeholder="not set" spellCheck={false} />
        ) : (
          <input
            {...shared}
            inputMode="decimal"
            autoComplete="off"
            placeholder="not set"
            aria-invalid={problem !== undefined}
          />
        )}
        {text === "" || kind === "format" ? null : (
          <button
            type="button"
            className={styles.parameterReset}
            aria-label={`Reset ${name}`}
            onClick={() => {
              onChange("");
              field.current?.focus();
            }}
          >
            <svg width="16" height="16" viewBox="0 0 16 16" stroke="currentColor" aria-hidden="true">
              <path d="m4.5 4.5 7 7m-7 0 7-7" />
            </svg>
          </button>
        )}
      </div>
      <p id={`${id}-note`} className={problem === undefined ? formStyles.hint : formStyles.fieldError}>
        {problem ?? hint}
      </p>
    </div>
  );
}
