import type { UpstreamCall } from "./dialect.ts";
import { isQuotation, isRefusalAbout } from "./refusal.ts";
import type { RefusedForms } from "./refused-forms.ts";

/** A change of a request's form, made once when an upstream refuses the request with the words. */
export interface FormChange<Call extends UpstreamCall, Form> {
  readonly words: RegExp;
  readonly change: Partial<Form>;
  /** Where it is remembered. `null`: the client has caused the refusal, which says nothing about others' requests. */
  readonly memory: RefusedForms | null;
  /** What is forgotten when this is remembered, because the two contradict each other. */
  readonly replaces?: RefusedForms;
  /** Whether a refusal of this request applies to others, and so may be remembered. Absent: it does. */
  readonly appliesToOthers?: (call: Call) => boolean;
}

/** A request that can be sent in several forms. */
interface FormedRequest<Form, Answer> {
  /** The form of which no upstream is known to refuse a part. */
  readonly usual: Form;
  /** The request in a form, in JSON. */
  readonly textOf: (form: Form) => string;
  readonly send: (form: Form) => Promise<Answer>;
  /** What the client has written, where every form contains words of a refusal. Absent: what all forms have in common. */
  readonly clientText?: () => string;
}

interface MadeChange<Call extends UpstreamCall, Form> extends FormChange<Call, Form> {
  /** The refusal that it followed. */
  readonly refusal: unknown;
}

/**
 * Sends a request in the form that its upstream is known to take, and again with another change after each refusal that one of the changes
 * is for.
 *
 * @param changes The first that matches a refusal is made. Of two that are remembered and contradict each other, the later one wins.
 * @throws what `send` throws.
 */
export async function sendInForms<Call extends UpstreamCall, Form, Answer>(
  call: Call,
  changes: readonly FormChange<Call, Form>[],
  request: FormedRequest<Form, Answer>,
): Promise<Answer> {
  const { usual, textOf, send } = request;
  let form = usual;
  for (const { change, memory } of changes) {
    if (memory?.isUsual(call) === false) form = { ...form, ...change };
  }
  let left = changes;
  // Only the forms are kept, because their texts would stay in memory until the answer comes.
  const sent: Form[] = [];
  let last: MadeChange<Call, Form> | null = null;
  for (;;) {
    sent.push(form);
    try {
      const answer = await send(form);
      // Of several changes only the last is known to have been needed.
      if (last !== null) remember(call, last, [...sent.slice(-2).map(textOf), ...clientTextsOf(request)]);
      return answer;
    } catch (refusal) {
      const next = left.find(
        ({ words, change }) =>
          isRefusalAbout(words, refusal) && !sent.map(textOf).includes(textOf({ ...form, ...change })),
      );
      if (next === undefined) throw refusal;
      form = { ...form, ...next.change };
      left = left.filter((one) => one !== next);
      last = { ...next, refusal };
    }
  }
}

function clientTextsOf({
  clientText,
}: Pick<FormedRequest<unknown, unknown>, "clientText">): readonly string[] {
  return clientText === undefined ? [] : [clientText()];
}

/**
 * Remembers a change, unless the refusal may quote the client: what it says is in the form that was refused, in the one that was taken, and in
 * what the client has written.
 */
function remember<Call extends UpstreamCall, Form>(
  call: Call,
  { words, memory, replaces, appliesToOthers, refusal }: MadeChange<Call, Form>,
  texts: readonly string[],
): void {
  if (memory === null || appliesToOthers?.(call) === false) return;
  if (texts.every((text) => isQuotation(words, refusal, text))) return;
  memory.remember(call);
  replaces?.forget(call);
}
