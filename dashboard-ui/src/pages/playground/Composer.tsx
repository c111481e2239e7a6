import { type KeyboardEvent, type RefObject, type SubmitEvent, useId } from "react";
import { Button } from "../../components/Button.tsx";
import formStyles from "../../components/form.module.css";
import pageHeadStyles from "../../components/PageHead.module.css";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import styles from "./Composer.module.css";
import type { Draft, Removal } from "./chat-state.ts";
import { RoleChoice } from "./RoleChoice.tsx";

interface ComposerProps {
  readonly ref: RefObject<HTMLTextAreaElement | null>;
  readonly draft: Draft;
  readonly isRunning: boolean;
  /** The reason why the message cannot be sent. */
  readonly problem: string | null;
  readonly removal: Removal | null;
  readonly onChange: (draft: Draft) => void;
  readonly send: () => void;
  readonly add: () => void;
  readonly stop: () => void;
  readonly putBack: () => void;
}

/** The form for the next message. */
export function Composer(props: ComposerProps) {
  const { ref, draft, isRunning, problem, removal, onChange, send, add, stop, putBack } = props;
  const id = useId();

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // The Enter that completes a word in a Japanese or Chinese input method does not send.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!isRunning) send();
  };

  return (
    <form className={styles.composer} onSubmit={submit}>
      <div className={panelStyles.panel}>
        <div role="status" className={styles.removal}>
          {removal === null ? null : (
            <>
              <span>{removal.what === "message" ? "Message deleted." : "Conversation cleared."}</span>
              <Button onClick={putBack}>Undo</Button>
            </>
          )}
        </div>
        <label className={textStyles.visuallyHidden} htmlFor={id}>
          Message
        </label>
        <textarea
          id={id}
          ref={ref}
          rows={2}
          placeholder="Write a message"
          value={draft.text}
          aria-describedby={`${id}-note`}
          aria-invalid={problem !== null}
          onChange={({ target }) => onChange({ ...draft, text: target.value })}
          onKeyDown={onKeyDown}
        />
        <p
          id={`${id}-note`}
          className={problem === null ? formStyles.hint : formStyles.fieldError}
          role={problem === null ? undefined : "alert"}
        >
          {problem ?? (
            <>
              <kbd>Enter</kbd> to send, <kbd>Shift</kbd> <kbd>Enter</kbd> for a new line
            </>
          )}
        </p>
        <div className={panelStyles.panelHead}>
          <RoleChoice value={draft.role} onChange={(role) => onChange({ ...draft, role })} />
          <div className={pageHeadStyles.pageActions}>
            <Button disabled={draft.text.trim() === ""} onClick={add}>
              <span>
                Add<span className={styles.rest}> without sending</span>
              </span>
            </Button>
            {isRunning ? <Button onClick={stop}>Stop</Button> : null}
            <Button type="submit" look="primary" busy={isRunning}>
              Send
            </Button>
          </div>
        </div>
      </div>
    </form>
  );
}
