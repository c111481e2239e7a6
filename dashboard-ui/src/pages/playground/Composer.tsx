import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type RefObject,
  type SubmitEvent,
  useId,
  useRef,
  useState,
} from "react";
import { Button } from "../../components/Button.tsx";
import { isComposing } from "../../components/composing.ts";
import formStyles from "../../components/form.module.css";
import pageHeadStyles from "../../components/PageHead.module.css";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import { Attachments } from "./Attachments.tsx";
import { type Accepted, acceptedTypes } from "./attachment.ts";
import styles from "./Composer.module.css";
import type { Draft, Lane, Removal } from "./chat-state.ts";
import { RoleChoice } from "./RoleChoice.tsx";

/** Devices whose keyboard is on the screen, where nothing but Enter begins a line. */
const TOUCH = matchMedia("(hover: none) and (pointer: coarse)");

interface ComposerProps {
  readonly ref: RefObject<HTMLTextAreaElement | null>;
  readonly draft: Draft;
  readonly isRunning: boolean;
  /** The reason why the message cannot be sent. */
  readonly problem: string | null;
  readonly removal: Removal | null;
  readonly accepted: Accepted;
  readonly lanes: readonly Lane[];
  readonly target: number | null;
  readonly onTarget: (target: number | null) => void;
  readonly onChange: (draft: Draft) => void;
  readonly attach: (files: readonly File[]) => void;
  readonly send: () => void;
  readonly add: () => void;
  readonly stop: () => void;
  readonly putBack: () => void;
}

/** The form for the next message. Files can be chosen, pasted and dropped. */
export function Composer(props: ComposerProps) {
  const { ref, draft, isRunning, problem, removal, onChange, attach, send, putBack } = props;
  const [isOver, setOver] = useState(false);
  const id = useId();

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    if (TOUCH.matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (!isRunning) send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    attach(files);
  };
  const onDrop = (event: DragEvent) => {
    setOver(false);
    const files = [...event.dataTransfer.files];
    if (files.length === 0) return;
    event.preventDefault();
    attach(files);
  };

  return (
    <form
      className={styles.composer}
      data-over={isOver}
      onSubmit={submit}
      onDrop={onDrop}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        // The browser would leave the page and show the file.
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
    >
      <div className={panelStyles.panel}>
        <div role="status" className={styles.removal}>
          {removal === null ? null : (
            <>
              <span>Message deleted.</span>
              <Button onClick={putBack}>Undo</Button>
            </>
          )}
        </div>
        <Attachments
          attachments={draft.attachments}
          remove={(removed) =>
            onChange({ ...draft, attachments: draft.attachments.filter((one) => one.id !== removed) })
          }
        />
        <label className={textStyles.visuallyHidden} htmlFor={id}>
          Message
        </label>
        <textarea
          id={id}
          ref={ref}
          dir="auto"
          rows={2}
          placeholder="Write a message"
          value={draft.text}
          aria-describedby={`${id}-note`}
          aria-invalid={problem !== null}
          onChange={({ target }) => onChange({ ...draft, text: target.value })}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <p
          id={`${id}-note`}
          className={problem === null ? formStyles.hint : formStyles.fieldError}
          role={problem === null ? undefined : "alert"}
        >
          {problem ??
            (TOUCH.matches ? null : (
              <>
                <kbd>Enter</kbd> to send, <kbd>Shift</kbd> <kbd>Enter</kbd> for a new line
              </>
            ))}
        </p>
        <ComposerActions {...props} />
      </div>
    </form>
  );
}

function ComposerActions(props: ComposerProps) {
  const { draft, isRunning, accepted, lanes, target, onTarget, onChange, attach, add, stop } = props;
  const isEmpty = draft.text.trim() === "" && draft.attachments.length === 0;
  return (
    <div className={panelStyles.panelHead}>
      <div className={styles.left}>
        <RoleChoice value={draft.role} onChange={(role) => onChange({ ...draft, role })} />
        <AttachButton accepted={accepted} attach={attach} />
        {lanes.length < 2 ? null : <TargetChoice lanes={lanes} target={target} onTarget={onTarget} />}
      </div>
      <div className={pageHeadStyles.pageActions}>
        <Button className={isRunning ? styles.idle : undefined} disabled={isEmpty} onClick={add}>
          <span>
            Add<span className={styles.rest}> without sending</span>
          </span>
        </Button>
        {isRunning ? <Button onClick={stop}>{lanes.length > 1 ? "Stop all" : "Stop"}</Button> : null}
        <Button type="submit" look="primary" busy={isRunning}>
          Send
        </Button>
      </div>
    </div>
  );
}

interface AttachButtonProps {
  readonly accepted: Accepted;
  readonly attach: (files: readonly File[]) => void;
}

/** Absent for models that take only text. */
function AttachButton({ accepted, attach }: AttachButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  const types = acceptedTypes(accepted);
  if (types === "") return null;
  return (
    <>
      <Button onClick={() => input.current?.click()}>Attach</Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept={types}
        aria-label="Files to attach"
        onChange={({ target }) => {
          attach([...(target.files ?? [])]);
          // The same file can be chosen again after it was removed.
          target.value = "";
        }}
      />
    </>
  );
}

function TargetChoice({ lanes, target, onTarget }: Pick<ComposerProps, "lanes" | "target" | "onTarget">) {
  return (
    <select
      aria-label="Send to"
      className={styles.target}
      value={target ?? ""}
      onChange={(event) => onTarget(event.target.value === "" ? null : Number(event.target.value))}
    >
      <option value="">To all {lanes.length} models</option>
      {lanes.map(({ id, model }) => (
        <option key={id} value={id}>
          To {model}
        </option>
      ))}
    </select>
  );
}
