import type { Chat } from "./chat.ts";
import type { Lane } from "./chat-state.ts";
import messageStyles from "./Message.module.css";
import { Message } from "./Message.tsx";

interface ConversationProps {
  readonly chat: Chat;
  readonly lane: Lane;
  /** Called after a message was deleted. */
  readonly onRemove: () => void;
  readonly askAgain: () => void;
  /** Requests the next message after the results of tool calls. */
  readonly resume: () => void;
}

/** The messages of a conversation. */
export function Conversation({ chat, lane, onRemove, askAgain, resume }: ConversationProps) {
  const { id: laneId, messages, isRunning } = lane;
  return (
    <ol className={messageStyles.messages}>
      {messages.map((message, index) => {
        // Only the last answer can be repeated, because later messages depend on earlier answers.
        const isNext = index === messages.length - 1 && !isRunning;
        return (
          <Message
            key={message.id}
            number={index + 1}
            message={message}
            edit={(role, text) => chat.edit(laneId, message.id, role, text)}
            remove={() => {
              chat.remove(laneId, message.id);
              onRemove();
            }}
            setResult={(callIndex, result) => chat.setResult(laneId, message.id, callIndex, result)}
            askAgain={isNext ? askAgain : null}
            resume={isNext ? resume : null}
          />
        );
      })}
    </ol>
  );
}
