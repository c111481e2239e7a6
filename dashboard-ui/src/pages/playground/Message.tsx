import { useRef, useState } from "react";
import { Button } from "../../components/Button.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { classes } from "../../components/classes.ts";
import { Deferred, lazyCode } from "../../components/lazy-code.tsx";
import { Spinner } from "../../components/Spinner.tsx";
import textStyles from "../../components/text.module.css";
import { AnswerFigures } from "./AnswerFigures.tsx";
import { AnswerImages } from "./AnswerImages.tsx";
import { AnswerSpeech } from "./AnswerSpeech.tsx";
import { AnswerText, RawText } from "./AnswerText.tsx";
import { Attachments } from "./Attachments.tsx";
import { type Answer, isEmpty } from "./answer.ts";
import { ArrivingCalls, Calls } from "./Calls.tsx";
import type { ChatMessage, GeneratedAnswer, Role } from "./chat-state.ts";
import styles from "./Message.module.css";
import { MessageForm } from "./MessageForm.tsx";

/** The validator of JSON schemas, which only structured answers need. */
const jsonAnswer = lazyCode(async () => (await import("./JsonAnswer.tsx")).JsonAnswer);

interface MessageActions {
  readonly edit: (role: Role, text: string) => void;
  readonly remove: () => void;
  readonly setResult: (callIndex: number, result: string) => void;
  /** `null` if the answer cannot be repeated. */
  readonly askAgain: (() => void) | null;
  /** Sends the results of tool calls; `null` where that is not the next step. */
  readonly resume: (() => void) | null;
}

interface MessageProps extends MessageActions {
  /** The position in the conversation, from 1. */
  readonly number: number;
  readonly message: ChatMessage;
}

/** One message of the conversation. */
export function Message({ number, message, edit, remove, setResult, askAgain, resume }: MessageProps) {
  const [isEditing, setEditing] = useState(false);
  const [isRaw, setRaw] = useState(false);
  const actions = useRef<HTMLDivElement>(null);
  const { role, text, generated } = message;
  const isUnderway = generated?.outcome === "underway";
  const name = `message ${number}`;

  const endEditing = () => {
    setEditing(false);
    // The button is rendered again in the next frame.
    requestAnimationFrame(() => actions.current?.querySelector("button")?.focus());
  };

  return (
    <li className={styles.message} data-role={role} aria-busy={isUnderway}>
      <div className={styles.messageHead}>
        <p className={styles.messageRole}>
          {role === "user" ? "User" : "Assistant"}
          {generated === null ? null : <span className={textStyles.small}>{generated.model}</span>}
        </p>
        {isEditing || isUnderway ? null : (
          <div className={styles.messageActions} ref={actions}>
            <Button aria-label={`Edit ${name}`} onClick={() => setEditing(true)}>
              Edit
            </Button>
            {text === "" ? null : <CopyButton short text={text} what={name} />}
            {role === "assistant" && text !== "" ? (
              <Button aria-label={`Raw ${name}`} aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
                Raw
              </Button>
            ) : null}
            {askAgain === null || generated === null ? null : (
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
        <MessageContent message={message} isRaw={isRaw} setResult={setResult} resume={resume} />
      )}
      {generated === null || isUnderway ? null : <AnswerFigures generated={generated} />}
    </li>
  );
}

interface MessageContentProps extends Pick<MessageActions, "setResult" | "resume"> {
  readonly message: ChatMessage;
  readonly isRaw: boolean;
}

function MessageContent({ message, isRaw, setResult, resume }: MessageContentProps) {
  const { attachments, calls, generated } = message;
  return (
    <>
      {generated === null ? null : <Reasoning answer={generated.answer} />}
      {message.role === "user" ? <Attachments attachments={attachments} /> : null}
      <MessageText message={message} isRaw={isRaw} />
      {message.role === "assistant" ? <Produced attachments={attachments} /> : null}
      {calls.length > 0 ? (
        <Calls calls={calls} setResult={setResult} resume={resume} />
      ) : generated === null ? null : (
        <ArrivingCalls calls={generated.answer.calls} />
      )}
      {generated === null ? null : <Course generated={generated} hasImages={attachments.length > 0} />}
    </>
  );
}

/** What a model has produced beside text. */
function Produced({ attachments }: Pick<ChatMessage, "attachments">) {
  return (
    <>
      <AnswerImages images={attachments.filter(({ kind }) => kind !== "audio")} />
      {attachments.map((one) => (one.kind === "audio" ? <AnswerSpeech key={one.id} speech={one} /> : null))}
    </>
  );
}

/** What a user wrote is shown as written; what a model wrote is Markdown, or the requested JSON. */
function MessageText({ message, isRaw }: { readonly message: ChatMessage; readonly isRaw: boolean }) {
  const { role, text, generated } = message;
  if (text === "") return null;
  if (role === "user") return <RawText text={text} />;
  if (generated?.outcome === "whole" && generated.format.kind !== "text" && !isRaw) {
    return (
      <Deferred
        code={jsonAnswer}
        props={{ text, format: generated.format }}
        fallback={<RawText text={text} />}
      />
    );
  }
  return <AnswerText text={text} isRaw={isRaw} />;
}

function Reasoning({ answer }: { readonly answer: Answer }) {
  if (answer.reasoning === "") return null;
  return (
    <details className={styles.reasoning}>
      <summary>Reasoning</summary>
      <RawText text={answer.reasoning} />
    </details>
  );
}

interface CourseProps {
  readonly generated: GeneratedAnswer;
  readonly hasImages: boolean;
}

/** The progress of an answer, or a note that it is incomplete. */
function Course({ generated: { answer, outcome }, hasImages }: CourseProps) {
  const words = courseOf(answer, outcome, hasImages);
  if (words === null) return null;
  return (
    <p className={classes(textStyles.quiet, styles.course)}>
      {outcome === "underway" ? <Spinner /> : null}
      {words}
    </p>
  );
}

function courseOf(answer: Answer, outcome: GeneratedAnswer["outcome"], hasImages: boolean): string | null {
  const hasContent = answer.text !== "" || answer.calls.length > 0 || hasImages;
  const isNothing = isEmpty(answer) && !hasImages;
  switch (outcome) {
    case "underway":
      if (isNothing) return "Waiting for the answer…";
      return hasContent ? null : "Thinking…";
    case "stopped":
      return isNothing ? "Stopped before the answer began." : "Stopped.";
    case "broken":
      return "Answer interrupted.";
    case "whole":
      if (answer.finishReason === "length") return "Token limit reached.";
      if (answer.finishReason === "content_filter") return "Stopped by the model's content filter.";
      return hasContent ? null : "The answer is empty.";
  }
}
