import { useMutation } from "@tanstack/react-query";
import { type ReactNode, type SubmitEvent, useState } from "react";
import { Button } from "./Button.tsx";
import { Field } from "./Field.tsx";
import formStyles from "./form.module.css";

interface TestAddressProps<Verdict> {
  readonly ask: (address: string) => Promise<Verdict>;
  /** What the verdict depends on besides the address. */
  readonly rules?: unknown;
  readonly className?: string | undefined;
  /** The message at the field. */
  readonly errorText: (error: unknown) => string;
  readonly children: (verdict: Verdict) => ReactNode;
}

const NOTHING_ASKED = { data: undefined, error: null };

/** Tests an address against IP rules. */
export function TestAddress<Verdict>(props: TestAddressProps<Verdict>) {
  const { ask, rules, className = formStyles.inlineForm, errorText, children } = props;
  const [address, setAddress] = useState("");
  const attempt = useMutation({ mutationFn: (_question: string) => ask(address) });
  const question = JSON.stringify([address, rules]);
  // A verdict on other rules or another address would mislead.
  const { data, error } = attempt.variables === question ? attempt : NOTHING_ASKED;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    attempt.mutate(question);
  };
  return (
    <form className={className} onSubmit={submit}>
      <Field
        label="Test an address"
        placeholder="192.0.2.7"
        autoComplete="off"
        spellCheck={false}
        required
        value={address}
        error={error === null ? undefined : errorText(error)}
        onChange={(event) => setAddress(event.target.value)}
      />
      <Button type="submit" busy={attempt.isPending}>
        Check
      </Button>
      <div role="status">{data === undefined ? null : children(data)}</div>
    </form>
  );
}
