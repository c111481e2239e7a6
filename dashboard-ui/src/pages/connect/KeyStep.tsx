import { type RefObject, type SubmitEvent, useEffect, useRef, useState } from "react";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { Field } from "../../components/Field.tsx";
import formStyles from "../../components/form.module.css";
import { FormError, Notice } from "../../components/Notice.tsx";
import shownOnceStyles from "../../components/ShownOnce.module.css";
import textStyles from "../../components/text.module.css";
import styles from "./KeyStep.module.css";
import type { NewKey } from "./use-new-key.ts";

interface KeyStepProps {
  readonly newKey: NewKey;
  readonly keys: readonly ListedKey[];
}

/** The step that creates a key, and shows it until it is stored. */
export function KeyStep({ newKey, keys }: KeyStepProps) {
  const [isAnother, setAnother] = useState(false);
  const active = keys.find(({ state }) => state === "active");
  if (newKey.created !== null) return <CreatedKey newKey={newKey} />;
  // The key of an attempt whose answer was lost is in the list, too. Only the form can still show it.
  const isTrying = newKey.isPending || newKey.formError !== null;
  if (active === undefined || isAnother || isTrying) return <KeyForm newKey={newKey} hasFocus={isAnother} />;
  return (
    <div className={styles.step}>
      <p className={textStyles.quiet}>
        You have the key “{active.name}” <code>…{active.keyId}</code>. Create another one if you lost it.
      </p>
      <Button onClick={() => setAnother(true)}>Create another key</Button>
    </div>
  );
}

interface KeyFormProps {
  readonly newKey: NewKey;
  /** Whether the form takes the focus, because it replaces the button that was pressed. */
  readonly hasFocus: boolean;
}

function KeyForm({ newKey, hasFocus }: KeyFormProps) {
  const { name, setName, create, isPending, nameError, formError } = newKey;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create();
  };
  return (
    <form onSubmit={submit} className={styles.step}>
      <p className={textStyles.quiet}>Keys work with every model. Create one key per deployment.</p>
      <FormError text={formError} />
      <div className={formStyles.inlineForm}>
        <Field
          label="Key name"
          required
          autoFocus={hasFocus}
          maxLength={64}
          autoComplete="off"
          value={name}
          error={nameError}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" look="primary" busy={isPending}>
          Create key
        </Button>
      </div>
    </form>
  );
}

/** Focuses the first button of a place. */
function focusButton(place: RefObject<HTMLElement | null>, options?: FocusOptions): void {
  place.current?.querySelector("button")?.focus(options);
}

function CreatedKey({ newKey }: Pick<KeyStepProps, "newKey">) {
  const { created, isStored, setStored, leaving } = newKey;
  const store = useRef<HTMLDivElement>(null);
  const step = useRef<HTMLDivElement>(null);
  const question = useRef<HTMLDivElement>(null);
  const isAsked = leaving.status === "blocked";
  // The form is gone that had the focus.
  useEffect(() => focusButton(store, { preventScroll: true }), []);
  useEffect(() => {
    // The link that was followed may be anywhere on the page, and the question out of view.
    if (!isAsked || step.current?.contains(document.activeElement) === true) return;
    focusButton(question);
  }, [isAsked]);
  const stay = () => {
    leaving.reset?.();
    focusButton(store, { preventScroll: true });
  };
  if (created === null) return null;
  if (isStored) {
    return (
      <p className={textStyles.quiet} role="status">
        Key “{created.name}” <code>…{created.key.slice(-4)}</code> is stored. The commands below contain it
        until you leave this page.
      </p>
    );
  }
  return (
    <div className={styles.step} ref={step}>
      <p role="status">
        Key “{created.name}” is created and shown only once. Store it in a secret manager now. A lost key
        can't be recovered, only revoked.
      </p>
      <div className={shownOnceStyles.secret}>
        <code data-testid="key-string">{created.key}</code>
      </div>
      <div className={styles.store} ref={store}>
        <CopyButton text={created.key} what="key" look="primary" />
        <label className={formStyles.check}>
          <input type="checkbox" checked={isStored} onChange={(event) => setStored(event.target.checked)} />I
          have stored it
        </label>
      </div>
      {leaving.status === "blocked" ? (
        <div ref={question}>
          <Notice tone="warning">
            <p>Store the key before you leave: it can't be shown again.</p>
            <Button onClick={stay}>Stay on this page</Button>
            <Button look="danger" onClick={leaving.proceed}>
              Leave without the key
            </Button>
          </Notice>
        </div>
      ) : null}
    </div>
  );
}
