import { Slider as Base } from "@base-ui/react/slider";
import { useId, useRef } from "react";
import { classes } from "../../components/classes.ts";
import formStyles from "../../components/form.module.css";
import styles from "./Parameters.module.css";
import { PARAMETERS, type Parameter, type ParameterTexts, problemOf, type Slider } from "./parameters.ts";

interface ParameterFieldsProps {
  readonly texts: ParameterTexts;
  readonly stream: boolean;
  readonly onChange: (texts: ParameterTexts) => void;
  readonly onStreamChange: (stream: boolean) => void;
}

/** A field for each parameter. */
export function ParameterFields({ texts, stream, onChange, onStreamChange }: ParameterFieldsProps) {
  return (
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
  );
}

interface ParameterFieldProps {
  readonly parameter: Parameter;
  readonly text: string;
  readonly problem: string | undefined;
  readonly onChange: (text: string) => void;
}

function ParameterField({ parameter, text, problem, onChange }: ParameterFieldProps) {
  const { name, kind, hint, slider } = parameter;
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
        {kind === "lines" ? (
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
        {text === "" ? null : (
          <button
            type="button"
            className={styles.parameterReset}
            aria-label={`Reset ${name}`}
            onClick={() => {
              onChange("");
              field.current?.focus();
            }}
          >
            <svg width="1rem" height="1rem" viewBox="0 0 16 16" stroke="currentColor" aria-hidden="true">
              <path d="m4.5 4.5 7 7m-7 0 7-7" />
            </svg>
          </button>
        )}
      </div>
      {slider === undefined ? null : (
        <ParameterSlider name={name} slider={slider} text={text} onChange={onChange} />
      )}
      <p id={`${id}-note`} className={problem === undefined ? formStyles.hint : formStyles.fieldError}>
        {problem ?? hint}
      </p>
    </div>
  );
}

interface ParameterSliderProps {
  readonly name: string;
  readonly slider: Slider;
  readonly text: string;
  readonly onChange: (text: string) => void;
}

function ParameterSlider({ name, slider, text, onChange }: ParameterSliderProps) {
  const { min, max, step, start } = slider;
  const number = text.trim() === "" ? Number.NaN : Number(text);
  const isSet = Number.isFinite(number);
  return (
    <Base.Root
      className={styles.slider}
      data-set={isSet}
      min={min}
      max={max}
      step={step}
      value={isSet ? Math.min(max, Math.max(min, number)) : start}
      onValueChange={(value) => onChange(String(value))}
    >
      <Base.Control className={styles.sliderControl}>
        <Base.Track className={styles.sliderTrack}>
          <Base.Indicator className={styles.sliderIndicator} />
          <Base.Thumb
            className={styles.sliderThumb}
            getAriaLabel={() => `Slider of ${name}`}
            getAriaValueText={(formatted) => (isSet ? formatted : "not set")}
          />
        </Base.Track>
      </Base.Control>
    </Base.Root>
  );
}
