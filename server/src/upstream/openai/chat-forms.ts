import type { JsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { objectOf } from "../../json/members.ts";
import type { ConversationCall, ForwardCall } from "../dialect.ts";
import type { FormChange } from "../form-changes.ts";
import { RefusedForms } from "../refused-forms.ts";
import { ABOUT_CALL_IDS } from "./call-ids.ts";
import type { ChatForm } from "./conversation-body.ts";
import { THOUGHT_UNKNOWN, WITH_THOUGHT } from "./thought-members.ts";

/** Words by which servers refuse a request for the usage of a stream. Mistral's server sends the usage without a request. */
const ABOUT_USAGE = /stream_options|include_usage/i;
/** Words by which servers refuse a model's message without its thought, such as DeepSeek's and Moonshot's. */
const WITHOUT_THOUGHT =
  /(?:missing|must|require).*reasoning_content|reasoning_content.*(?:missing|must|require)/is;
/**
 * Words by which the templates of models such as Qwen's refuse instructions that are not the first message. Codex sends some in two messages, and
 * later ones.
 */
const NOT_FIRST = /system message must be (?:at the beginning|(?:the )?first)/i;
/**
 * Words by which other servers, such as Mistral's, refuse instructions only after certain messages. The client decides which messages they follow.
 */
const ABOUT_SYSTEM = /system message must be|unexpected role\W+system/i;
/** Words by which servers refuse the length of answers that Codex asks for: most models of other providers have no such field. */
const ABOUT_VERBOSITY = /\bverbosity\b/i;

/** The form of a chat completion of which no server is known to refuse a part. */
export const USUAL_FORM: ChatForm = {
  asksUsage: true,
  keepsCallIds: true,
  thoughts: "known",
  keepsSystems: true,
  keepsVerbosity: true,
};

/**
 * The changes of chat completions, whether translated or forwarded. A forwarded one keeps its instructions and its verbosity, which are the client's
 * own, and has no thoughts added to it. Each {@link RefusedForms} is named after what it has refused.
 */
export function chatFormChanges(
  monotonicMs: () => number,
): readonly FormChange<ConversationCall | ForwardCall, ChatForm>[] {
  const refused = (words: RegExp) => new RefusedForms(words, monotonicMs);
  const [withThoughts, withoutThoughts] = [refused(THOUGHT_UNKNOWN), refused(WITHOUT_THOUGHT)];
  return [
    {
      words: ABOUT_USAGE,
      change: { asksUsage: false },
      memory: refused(ABOUT_USAGE),
      // What an upstream refuses together with the client's own options may be those.
      appliesToOthers: (call) =>
        !("request" in call) || Object.keys(otherOptions(call.request.body)).length === 0,
    },
    { words: ABOUT_CALL_IDS, change: { keepsCallIds: false }, memory: refused(ABOUT_CALL_IDS) },
    { words: WITHOUT_THOUGHT, change: { thoughts: "all" }, memory: withoutThoughts, replaces: withThoughts },
    { words: THOUGHT_UNKNOWN, change: { thoughts: "none" }, memory: withThoughts, replaces: withoutThoughts },
    { words: WITH_THOUGHT, change: { thoughts: "none" }, memory: null },
    { words: NOT_FIRST, change: { keepsSystems: false }, memory: refused(NOT_FIRST) },
    { words: ABOUT_SYSTEM, change: { keepsSystems: false }, memory: null },
    { words: ABOUT_VERBOSITY, change: { keepsVerbosity: false }, memory: refused(ABOUT_VERBOSITY) },
  ];
}

/** What a client asks of a stream besides its usage. */
export function otherOptions({ value }: JsonBody): JsonObject {
  const { include_usage: _, ...others } = objectOf(value.stream_options);
  return others;
}
