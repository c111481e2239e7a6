import { type ChangeEvent, type SubmitEvent, useState } from "react";

type Input = HTMLInputElement;

interface FieldParts {
  /** What to enter, for an input with a pattern. */
  readonly hint: string | undefined;
  readonly onChange: ((event: ChangeEvent<Input>) => void) | undefined;
}

/**
 * The error of an input: what the browser finds wrong with it at a submit, or else the given one. The browser would show it in a bubble of its
 * own, in its own words, which goes away after seconds.
 */
export function useFieldError(given: string | undefined, { hint, onChange }: FieldParts) {
  const [found, setFound] = useState<string>();
  return {
    error: found ?? given,
    handlers: {
      onInvalid: (event: SubmitEvent<Input>) => {
        event.preventDefault();
        const input = event.currentTarget;
        setFound(textOf(input, hint));
        if (input === firstInvalidOf(input.form)) input.focus();
      },
      onChange: (event: ChangeEvent<Input>) => {
        setFound(undefined);
        onChange?.(event);
      },
    },
  };
}

function textOf({ validity, type, minLength, validationMessage }: Input, hint: string | undefined): string {
  if (validity.valueMissing) return "This field is required.";
  if (validity.tooShort) return `Enter at least ${minLength} characters.`;
  if (validity.typeMismatch && type === "email") return "Enter a valid e-mail address.";
  return (validity.patternMismatch ? hint : undefined) ?? validationMessage;
}

function firstInvalidOf(form: HTMLFormElement | null): Element | undefined {
  return [...(form?.elements ?? [])].find((element) => element.matches(":invalid:not(fieldset)"));
}
