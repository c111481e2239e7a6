import { useRef, useState } from "react";
import { Button } from "../../components/Button.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { classes } from "../../components/classes.ts";
import { Spinner } from "../../components/Spinner.tsx";
import textStyles from "../../components/text.module.css";
import { AnswerFigures } from "./AnswerFigures.tsx";
import { type Answer, isEmpty } from "./answer.ts";
import type { ChatMessage, Role, ToldAnswer } from "./chat-state.ts";
import styles from "./Message.module.css";
import { MessageForm } from "./MessageForm.tsx";

interface MessageProps {
  /** The position in the conversation, from 1. */
  readonly number: number;
  readonly message: ChatMessage;
  readonly edit: (role: Role, text: string) => void;
  readonly remove: () => void;
  /** `null` if the answer cannot be repeated. */
  readonly askAgain: (() => void) | null;
}

/** One message of the conversation. */
export function Message({ number, message, edit, remove, askAgain }: MessageProps) {
  const [isEditing, setEditing] = useState(false);
  const editButton = useRef<HTMLDivElement>(null);
  const { role, text, told } = message;
  const isUnderway = told?.outcome === "underway";
  const name = `message ${number}`;

  const endEditing = () => {
    setEditing(false);
    // The button is rendered again in the next frame.
    requestAnimationFrame(() => editButton.current?.querySelector("button")?.focus());
  };

  return (
    <li className={styles.message} data-role={role} aria-busy={isUnderway}>
      <div className={styles.messageHead}>
        <p className={styles.messageRole}>
          {role === "user" ? "User" : "Assistant"}
          {told === null ? null : <span className={textStyles.small}>{told.model}</span>}
        </p>
        {isEditing || isUnderway ? null : (
          <div className={styles.messageActions} ref={editButton}>
            <Button aria-label={`Edit ${name}`} onClick={() => setEditing(true)}>
              Edit
            </Button>
            <CopyButton short text={text} what={name} />
            {askAgain === null || told === null ? null : (
              <Button aria-label={`Regenerate ${name}`} onClick={askAgain}>
                Regenerate
              </Button>
            )}
            <Button aria-label={`Delete ${name}`} onClick={remove}>
              Delete
            </Button>
          </div>
        )}
      </div>
      {isEditing ? (
        <MessageForm
          name={name}
          role={role}
          text={text}
          save={(...changed) => {
            edit(...changed);
            endEditing();
          }}
          cancel={endEditing}
        />
      ) : (
        <>
          {told === null ? null : <Reasoning answer={told.answer} />}
          {text === "" ? null : <div className={styles.messageText}>{text}</div>}
          {told === null ? null : <Calls answer={told.answer} />}
          {told === null ? null : <Course told={told} />}
        </>
      )}
      {told === null || isUnderway ? null : <AnswerFigures told={told} />}
    </li>
  );
}

function Reasoning({ answer }: { readonly answer: Answer }) {
  if (answer.reasoning === "") return null;
  return (
    <details className={styles.reasoning}>
      <summary>Reasoning</summary>
      <div className={styles.messageText}>{answer.reasoning}</div>
    </details>
  );
}

function Calls({ answer }: { readonly answer: Answer }) {
  if (answer.calls.length === 0) return null;
  return (
    <ul className={styles.calls}>
      {answer.calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tool calls keep their positions
        <li key={index}>
          Calls <code>{`${call.name}(${call.arguments})`}</code>
        </li>
      ))}
    </ul>
  );
}

/** The progress of an answer, or a note that it is incomplete. */
function Course({ told: { answer, outcome } }: { readonly told: ToldAnswer }) {
  const words = courseOf(answer, outcome);
  if (words === null) return null;
  return (
    <p className={classes(textStyles.quiet, styles.course)}>
      {outcome === "underway" ? <Spinner /> : null}
      {words}
    </p>
  );
}

function courseOf(answer: Answer, outcome: ToldAnswer["outcome"]): string | null {
  switch (outcome) {
    case "underway":
      if (isEmpty(answer)) return "Waiting for the answer…";
      return answer.text === "" && answer.calls.length === 0 ? "Thinking…" : null;
    case "stopped":
      return isEmpty(answer) ? "Stopped before the answer began." : "Stopped.";
    case "broken":
      return "Answer interrupted.";
    case "whole":
      if (answer.finishReason === "length") return "Token limit reached.";
      if (answer.finishReason === "content_filter") return "Stopped by the model's content filter.";
      return answer.text === "" && answer.calls.length === 0 ? "The answer is empty." : null;
  }
}
