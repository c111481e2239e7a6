import type { ConversationAnswer, ConversationCall } from "../dialect.ts";
import { postWithBearer } from "../post-json.ts";
import { readAnswer } from "../read-answer.ts";
import { isQuotation, isRefusalAbout } from "../refusal.ts";
import { RefusedForms } from "../refused-forms.ts";
import type { Transport } from "../transport.ts";
import { written } from "../write-conversation.ts";
import { CompletionReader } from "./answer-events.ts";
import { type ChatForm, chatBodyOf, thinkerOf } from "./conversation-body.ts";
import { THOUGHT_UNKNOWN, WITH_THOUGHT } from "./thought-members.ts";

export const CHAT_PATH = "/chat/completions";
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

/** A change of a request's form, made once when an upstream refuses the request with the words. */
interface FormChange {
  readonly words: RegExp;
  readonly change: Partial<ChatForm>;
  /** Where it is remembered. `null`: the client has caused the refusal, which says nothing about others' requests. */
  readonly memory: RefusedForms | null;
  /** What is forgotten when this is remembered, because the two contradict each other. */
  readonly replaces?: RefusedForms;
}

interface MadeChange {
  readonly change: FormChange;
  /** The refusal that it followed. */
  readonly refusal: unknown;
}

/** The refusals that are remembered for translated and forwarded chat completions together. */
interface SharedForms {
  /** The models whose upstream refuses to be asked for the usage of a stream. */
  readonly usage: RefusedForms;
  /** Those whose upstream refuses ids of calls that other models have made. */
  readonly callIds: RefusedForms;
  /** Those whose upstream does not know the members of messages that contain thoughts. */
  readonly thoughts: RefusedForms;
}

/** Sends conversations in the form that an upstream takes. Each {@link RefusedForms} is named after what it has refused. */
export function converserOf(
  transport: Transport,
  { usage, callIds, thoughts: withThoughts }: SharedForms,
  monotonicMs: () => number,
): (call: ConversationCall) => Promise<ConversationAnswer> {
  const withoutThoughts = new RefusedForms(WITHOUT_THOUGHT, monotonicMs);
  const laterSystems = new RefusedForms(NOT_FIRST, monotonicMs);
  const verbosity = new RefusedForms(ABOUT_VERBOSITY, monotonicMs);
  const changes: readonly FormChange[] = [
    { words: usage.words, change: { asksUsage: false }, memory: usage },
    { words: callIds.words, change: { keepsCallIds: false }, memory: callIds },
    { words: WITHOUT_THOUGHT, change: { thoughts: "all" }, memory: withoutThoughts, replaces: withThoughts },
    { words: THOUGHT_UNKNOWN, change: { thoughts: "none" }, memory: withThoughts, replaces: withoutThoughts },
    { words: WITH_THOUGHT, change: { thoughts: "none" }, memory: null },
    { words: NOT_FIRST, change: { keepsSystems: false }, memory: laterSystems },
    { words: ABOUT_SYSTEM, change: { keepsSystems: false }, memory: null },
    { words: ABOUT_VERBOSITY, change: { keepsVerbosity: false }, memory: verbosity },
  ];
  return async (call) => {
    let form: ChatForm = {
      asksUsage: usage.isUsual(call),
      keepsCallIds: callIds.isUsual(call),
      thoughts: !withThoughts.isUsual(call) ? "none" : withoutThoughts.isUsual(call) ? "known" : "all",
      keepsSystems: laterSystems.isUsual(call),
      keepsVerbosity: verbosity.isUsual(call),
    };
    let left = changes;
    // Only the forms are kept, because their texts would stay in memory until the answer comes.
    const sent: ChatForm[] = [];
    const textOf = (one: ChatForm) => written(() => chatBodyOf(call, one)).text;
    const post = (one: ChatForm) => {
      const { ignored, text } = written(() => chatBodyOf(call, one));
      return { answered: postWithBearer(transport, call, CHAT_PATH, text), ignored };
    };
    let last: MadeChange | null = null;
    for (;;) {
      const { answered, ignored } = post(form);
      sent.push(form);
      try {
        const response = await answered;
        const reader = new CompletionReader(thinkerOf(call));
        const answer = await readAnswer(response, { stream: call.stream, reader, ignored });
        // Of several changes only the last is known to have been needed.
        if (last !== null) remember(call, last, sent.map(textOf));
        return answer;
      } catch (thrown) {
        const next = left.find(
          ({ words, change }) =>
            isRefusalAbout(words, thrown) && !sent.map(textOf).includes(textOf({ ...form, ...change })),
        );
        if (next === undefined) throw thrown;
        form = { ...form, ...next.change };
        left = left.filter((one) => one !== next);
        last = { change: next, refusal: thrown };
      }
    }
  };
}

/**
 * Remembers a change, unless the refusal may quote the client: what it says is in the form that was refused, and in the one that was taken.
 *
 * @param sent The texts of the request, in the order in which they were sent. The last was taken.
 */
function remember(call: ConversationCall, { change, refusal }: MadeChange, sent: readonly string[]): void {
  const { words, memory, replaces } = change;
  if (memory === null || sent.slice(-2).every((text) => isQuotation(words, refusal, text))) return;
  memory.remember(call);
  replaces?.forget(call);
}
