import type { ListedKey, ListedModel } from "../../api/types.ts";
import {
  type ChatMessage,
  isEmptyMessage,
  type SavedChat,
  sentAttachmentsOf,
  unansweredCall,
} from "./chat-state.ts";
import { PARAMETERS, problemOf } from "./parameters.ts";
import { schemaProblem } from "./tools.ts";

interface Circumstances {
  readonly model: Pick<ListedModel, "id"> | undefined;
  readonly key: Pick<ListedKey, "id"> | undefined;
  /** Whether the account has active keys. */
  readonly hasKeys: boolean;
}

/** The reason why these conversations cannot be sent. */
export function problemWith(
  chat: SavedChat,
  conversations: readonly (readonly ChatMessage[])[],
  { model, key, hasKeys }: Circumstances,
): string | null {
  if (model === undefined) return "Choose a model first.";
  if (key === undefined) return hasKeys ? "Choose a key first." : "Create a key first.";
  for (const messages of conversations) {
    if (messages.every(isEmptyMessage)) return "Write a message first.";
    const call = unansweredCall(messages);
    if (call !== undefined) return `Enter the result of ${call.name} first.`;
  }
  return settingsProblem(chat);
}

function settingsProblem(chat: SavedChat): string | null {
  const wrong = PARAMETERS.find((parameter) => problemOf(parameter, chat.parameters) !== undefined);
  if (wrong !== undefined) return `${wrong.name}: ${problemOf(wrong, chat.parameters)}`;
  const wrongTool = chat.tools.find(({ parameters }) => schemaProblem(parameters) !== undefined);
  if (wrongTool !== undefined) return `Tool ${wrongTool.name}: ${schemaProblem(wrongTool.parameters)}`;
  const wrongSchema = chat.format.kind === "json_schema" ? schemaProblem(chat.format.schema) : undefined;
  if (wrongSchema !== undefined) return `Output: ${wrongSchema}`;
  return sentAttachmentsOf(chat).some(({ url }) => url === null)
    ? "An attachment is no longer in this browser. Delete it, or attach it again."
    : null;
}
