import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Field, type FieldProps } from "./Field.tsx";
import formStyles from "./form.module.css";
import styles from "./PasswordField.module.css";
import textStyles from "./text.module.css";

type PasswordFieldProps = Omit<FieldProps, "type" | "end">;

/** A password field. A button reveals the password, and a note shows while Caps Lock is on. */
export function PasswordField(props: PasswordFieldProps) {
  const [isShown, setShown] = useState(false);
  const [isCapsLock, setCapsLock] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // A browser may keep what was sent as text, and suggest it to the next user.
    const form = field.current?.form;
    const hide = () => setShown(false);
    form?.addEventListener("submit", hide);
    return () => form?.removeEventListener("submit", hide);
  }, []);
  const look = (event: KeyboardEvent) => setCapsLock(event.getModifierState("CapsLock"));
  return (
    <div className={styles.passwordField}>
      <Field
        {...props}
        ref={field}
        type={isShown ? "text" : "password"}
        // A revealed password must not be capitalised or corrected.
        autoCapitalize="none"
        autoCorrect="off"
        spellCheck={false}
        onKeyDown={look}
        onKeyUp={look}
        onBlur={() => setCapsLock(false)}
        end={
          <button type="button" className={styles.passwordShow} onClick={() => setShown(!isShown)}>
            {isShown ? "Hide" : "Show"}
            <span className={textStyles.visuallyHidden}> password</span>
          </button>
        }
      />
      <p className={formStyles.hint} role="status">
        {isCapsLock ? "Caps Lock is on." : ""}
      </p>
    </div>
  );
}
