import type { ChatMessage, Role } from "./chat-state.ts";
import messageStyles from "./Message.module.css";
import { Message } from "./Message.tsx";

interface ConversationProps {
  readonly messages: readonly ChatMessage[];
  readonly isRunning: boolean;
  readonly edit: (id: number, role: Role, text: string) => void;
  readonly remove: (id: number) => void;
  readonly askAgain: () => void;
}

/** The messages of the conversation. */
export function Conversation({ messages, isRunning, edit, remove, askAgain }: ConversationProps) {
  return (
    <ol className={messageStyles.messages}>
      {messages.map((message, index) => (
        <Message
          key={message.id}
          number={index + 1}
          message={message}
          edit={(role, text) => edit(message.id, role, text)}
          remove={() => remove(message.id)}
          // Only the last answer can be repeated, because later messages depend on earlier answers.
          askAgain={index === messages.length - 1 && !isRunning ? askAgain : null}
        />
      ))}
    </ol>
  );
}
