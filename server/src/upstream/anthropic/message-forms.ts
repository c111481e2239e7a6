import type { UpstreamCall } from "../dialect.ts";
import type { FormChange } from "../form-changes.ts";
import { RefusedForms } from "../refused-forms.ts";
import { isAnthropicModel } from "./models.ts";

/** The optional parts of a request that some upstreams refuse. */
export interface MessagesForm {
  /** Whether the id of the user stays as the client sent it. Otherwise it is plain. */
  readonly keepsUser: boolean;
  /** Whether the upstream gets the thoughts that may be its own. Otherwise it gets none. */
  readonly keepsThoughts: boolean;
  /** Whether instructions within the conversation are messages of their own, if the model takes that. Otherwise they are the user's. */
  readonly keepsInstructions: boolean;
  /** Whether results refer to tools as the client sent them. Otherwise they are texts. */
  readonly keepsReferences: boolean;
}

/** The form of a request of which no upstream is known to refuse a part. */
export const USUAL_FORM: MessagesForm = {
  keepsUser: true,
  keepsThoughts: true,
  keepsInstructions: true,
  keepsReferences: true,
};

/** Words by which other providers' servers refuse an id of the user that is more than a name, as Claude Code's is: DeepSeek's. */
const ABOUT_USER = /\buser_?id\b/i;
/** Words by which other providers' servers refuse the blocks with which a client's search for tools answers. */
const ABOUT_REFERENCES = /\btool_reference\b/i;
/** Words by which Anthropic, and platforms that serve its models, refuse a thought of another provider's model, or one that a client has changed. */
const UNREADABLE = new RegExp(
  [
    String.raw`\binvalid \W?(?:signature|data)\W{1,3}in \W?(?:redacted_)?thinking\b`,
    String.raw`\bthinking\.(?:signature|data)\b`,
    String.raw`\b(?:redacted_)?thinking\W{1,3}blocks\b.{1,80}\bcannot be modified\b`,
  ].join("|"),
  "i",
);
/**
 * Words by which a model, a platform that serves it, or another provider's server refuses instructions within a conversation: those of Anthropic and
 * MiniMax, of DeepSeek and Qwen, of Zhipu, and of templates of models.
 */
const ABOUT_LATE = new RegExp(
  [
    String.raw`\b(?:role|top-level)\W{1,3}system\b`,
    String.raw`\bunknown variant\W{1,3}system\b`,
    String.raw`\bshould be \W?user\W{1,3}or\b`,
    String.raw`\bsystem message must be\b`,
  ].join("|"),
  "i",
);
/** Words by which other providers' servers may mean it, too. Kimi's says only that the request is invalid. */
const MAY_BE_LATE = /\b(?:system|roles?|instructions?|templates?|invalid request)\b/i;

type Changes = readonly FormChange<UpstreamCall, MessagesForm>[];

/** Returns the function that finds the changes for the model of a call, whether its request is translated or forwarded. */
export function messageFormChanges(monotonicMs: () => number): (call: UpstreamCall) => Changes {
  const refused = (words: RegExp) => new RefusedForms(words, monotonicMs);
  // It is the conversation that decides whether its thoughts can be read.
  const thoughts = { words: UNREADABLE, change: { keepsThoughts: false }, memory: null };
  const instructions = {
    words: ABOUT_LATE,
    change: { keepsInstructions: false },
    memory: refused(ABOUT_LATE),
  };
  const anthropics: Changes = [thoughts, instructions];
  const others: Changes = [
    thoughts,
    { words: ABOUT_REFERENCES, change: { keepsReferences: false }, memory: refused(ABOUT_REFERENCES) },
    { words: ABOUT_USER, change: { keepsUser: false }, memory: refused(ABOUT_USER) },
    instructions,
    { ...instructions, words: MAY_BE_LATE, memory: null },
  ];
  return ({ upstreamModel, upstream }) => (isAnthropicModel(upstreamModel, upstream) ? anthropics : others);
}
