import { Button } from "../../components/Button.tsx";
import { LazyPart } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import { Empty } from "../../components/Notice.tsx";
import textStyles from "../../components/text.module.css";
import { AskFailure } from "./AskFailure.tsx";
import styles from "./Conversations.module.css";
import type { Chat } from "./chat.ts";
import type { Lane } from "./chat-state.ts";

/** The messages are a good part of the page's script, and a new chat has none. */
const conversation = lazyCode(async () => (await import("./Conversation.tsx")).Conversation);

interface ConversationsProps {
  readonly chat: Chat;
  readonly lanes: readonly Lane[];
  readonly onRemove: () => void;
  readonly askAgain: (lane: Lane) => void;
  readonly resume: (lane: Lane) => void;
}

/** The conversation, or several side by side. */
export function Conversations({ lanes, ...shared }: ConversationsProps) {
  const [first] = lanes;
  if (lanes.length === 1 && first !== undefined) return <LaneContent lane={first} {...shared} />;
  return (
    <div className={styles.lanes} data-count={lanes.length}>
      {lanes.map((lane, index) => (
        <section key={lane.id} className={styles.lane} aria-labelledby={`lane-${lane.id}`}>
          <div className={styles.laneHead}>
            <h3 id={`lane-${lane.id}`}>
              <span className={textStyles.visuallyHidden}>Model {index + 1}: </span>
              {lane.model ?? "No model chosen"}
            </h3>
            <Button
              aria-label={`Keep only this: ${lane.model}`}
              onClick={() => shared.chat.keepOnly(lane.id)}
            >
              Keep only this
            </Button>
          </div>
          <LaneContent lane={lane} {...shared} />
        </section>
      ))}
    </div>
  );
}

interface LaneContentProps extends Omit<ConversationsProps, "lanes"> {
  readonly lane: Lane;
}

function LaneContent({ chat, lane, onRemove, askAgain, resume }: LaneContentProps) {
  const { messages, failure, isRunning } = lane;
  if (messages.length === 0 && failure === null) {
    return (
      <Empty title="Send a message to start">
        <p>
          The answer appears here with its tokens, time and cost. Chats stay in this browser until you sign
          out.
        </p>
      </Empty>
    );
  }
  const isUnanswered = messages.at(-1)?.role === "user" && failure === null && !isRunning;
  return (
    <div className={styles.content}>
      <LazyPart
        code={conversation}
        props={{ chat, lane, onRemove, askAgain: () => askAgain(lane), resume: () => resume(lane) }}
        what="the conversation"
      />
      {isUnanswered ? (
        <div>
          <Button onClick={() => resume(lane)}>Get an answer</Button>
        </div>
      ) : null}
      {failure === null ? null : <AskFailure failure={failure} askAgain={() => askAgain(lane)} />}
    </div>
  );
}
