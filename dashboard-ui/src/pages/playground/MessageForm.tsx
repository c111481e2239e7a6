import { type SubmitEvent, useEffect, useId, useRef, useState } from "react";
import { Button } from "../../components/Button.tsx";
import { isComposing } from "../../components/composing.ts";
import pageHeadStyles from "../../components/PageHead.module.css";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import type { Role } from "./chat-state.ts";
import messageStyles from "./Message.module.css";
import { RoleChoice } from "./RoleChoice.tsx";

interface MessageFormProps {
  /** The message's accessible name: "message 3". */
  readonly name: string;
  readonly role: Role;
  readonly text: string;
  readonly save: (role: Role, text: string) => void;
  readonly cancel: () => void;
}

/** A form to edit a message. */
export function MessageForm({ name, save, cancel, ...before }: MessageFormProps) {
  const [role, setRole] = useState(before.role);
  const [text, setText] = useState(before.text);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    save(role, text);
  };
  return (
    <form
      className={messageStyles.messageForm}
      onSubmit={submit}
      onKeyDown={(event) => {
        if (isComposing(event)) return;
        if (event.key === "Escape") cancel();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(role, text);
      }}
    >
      <label className={textStyles.visuallyHidden} htmlFor={id}>
        Text of {name}
      </label>
      <textarea
        id={id}
        ref={field}
        dir="auto"
        rows={3}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <div className={panelStyles.panelHead}>
        <RoleChoice value={role} onChange={setRole} />
        <div className={pageHeadStyles.pageActions}>
          <Button onClick={cancel}>Cancel</Button>
          <Button type="submit" look="primary">
            Save
          </Button>
        </div>
      </div>
    </form>
  );
}
