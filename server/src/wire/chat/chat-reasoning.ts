import { cannot, type Effort, type Reasoning } from "../../conversation/conversation.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { textOf } from "../../json/members.ts";
import { LITTLE_THINKING } from "../little-thinking.ts";
import { effortOf } from "../openai-fields.ts";
import { ThoughtList } from "./thought-list.ts";

/**
 * The fields by which chat completions ask for thoughts: OpenAI's `reasoning_effort`, the `reasoning` of OpenRouter's clients with its former
 * `include_reasoning`, and the `thinking` of LiteLLM's, which is Anthropic's.
 */
export const REASONING_FIELDS = ["reasoning_effort", "reasoning", "include_reasoning", "thinking"] as const;

interface AskedReasoning {
  /** `null`: the model thinks as it does by default. */
  readonly reasoning: Reasoning | null;
  /** The client's field that asks for it. */
  readonly field: (typeof REASONING_FIELDS)[number];
}

/** What `reasoning` or `thinking` says. `null` stands for what it does not say. */
interface Wish {
  readonly field: "reasoning" | "thinking";
  readonly effort: Effort | null;
  readonly budgetTokens: number | null;
  readonly isEnabled: boolean | null;
  /** The member that says {@link isEnabled}. */
  readonly enabledAt: string;
  /** The effort for a request that turns thinking on without an effort or a budget; `null`: the model decides. */
  readonly usualEffort: Effort | null;
  readonly summary: string | null;
}

/** What a chat completion asks of the model's thoughts. @throws {Failure} `invalid_request` naming what can't be meant. */
export function askedReasoning(body: JsonObject): AskedReasoning {
  const effort = effortOf(body.reasoning_effort, "reasoning_effort");
  requireBoolean(body.include_reasoning, "include_reasoning");
  const showsThoughts = hidesThoughts(body) ? {} : ({ showsThoughts: true } as const);
  const wish = wishIn(body);
  if (wish === null) {
    const reasoning =
      effort === null ? null : { effort, budgetTokens: null, summary: null, ...showsThoughts };
    return { reasoning, field: "reasoning_effort" };
  }
  const { field, budgetTokens, isEnabled, summary } = wish;
  if (effort !== null && (budgetTokens !== null || (wish.effort ?? effort) !== effort)) {
    throw cannot("reasoning_effort", `contradicts ${field}. Send one of them`);
  }
  const asked = wish.effort ?? effort;
  if (isEnabled === false && (budgetTokens !== null || (asked ?? "none") !== "none")) {
    throw cannot(wish.enabledAt, "turns thoughts off, which contradicts the effort or budget beside it");
  }
  if (isEnabled === true && asked === "none") {
    throw cannot(wish.enabledAt, "turns thoughts on, which contradicts the effort none beside it");
  }
  const isAsked = asked !== null || budgetTokens !== null || isEnabled !== null;
  if (!isAsked) return { reasoning: null, field };
  const usual = isEnabled === true && budgetTokens === null ? wish.usualEffort : null;
  const decided = isEnabled === false ? "none" : (asked ?? usual);
  // OpenRouter ignores its field for models that do not reason, so that its clients send it to every model.
  const isOptional = field === "reasoning" ? ({ isOptional: true } as const) : {};
  return { reasoning: { effort: decided, budgetTokens, summary, ...showsThoughts, ...isOptional }, field };
}

/** Whether the client hides the thoughts of the model. The model still thinks. */
export function hidesThoughts({ reasoning, thinking, include_reasoning: included }: JsonObject): boolean {
  if (isJsonObject(thinking)) return thinking.display === "omitted";
  const exclude = isJsonObject(reasoning) ? (reasoning.exclude ?? null) : null;
  return exclude === null ? included === false : exclude === true;
}

/** The member of DeepSeek's API, which most clients read. */
const USUAL_MEMBERS = ["reasoning_content"] as const;
/** Clients of OpenRouter read only its own member. */
const OPENROUTER_MEMBERS = [...USUAL_MEMBERS, "reasoning"] as const;

/** The members of a message in which the client reads thoughts: OpenRouter's, too, if it asks for them in OpenRouter's words. */
export function thoughtMembers({
  reasoning = null,
  include_reasoning: included = null,
}: JsonObject): readonly string[] {
  return reasoning === null && included === null ? USUAL_MEMBERS : OPENROUTER_MEMBERS;
}

/** The list in which the client reads thoughts and sends them back; `null`: its format has none, or it does not want to see them. */
export function thoughtListOf(body: JsonObject, signatures: SignatureSealer): ThoughtList | null {
  if (hidesThoughts(body)) return null;
  const { reasoning = null, thinking = null, include_reasoning: included = null } = body;
  if (reasoning !== null || included !== null) return new ThoughtList("reasoning_details", signatures);
  return thinking === null ? null : new ThoughtList("thinking_blocks", signatures);
}

function wishIn({ reasoning = null, thinking = null }: JsonObject): Wish | null {
  if (reasoning !== null && thinking !== null) {
    throw cannot("thinking", "cannot be combined with reasoning. Send one of them");
  }
  if (reasoning !== null) return reasoningWish(reasoning);
  return thinking === null ? null : thinkingWish(thinking);
}

/** OpenRouter's `reasoning`. It documents that `enabled` alone stands for a medium effort. */
function reasoningWish(value: Json): Wish {
  const field = "reasoning";
  const members = membersOf(value, field, ["effort", "max_tokens", "exclude", "enabled", "summary"]);
  requireBoolean(members.exclude, `${field}.exclude`);
  const effort = effortOf(members.effort, `${field}.effort`);
  const tokens = tokensOf(members.max_tokens, `${field}.max_tokens`);
  if (effort !== null && tokens !== null) {
    throw cannot(field, "has both effort and max_tokens. Send one of them");
  }
  return {
    field,
    effort,
    ...budgetOf(tokens, requireBoolean(members.enabled, `${field}.enabled`)),
    enabledAt: `${field}.enabled`,
    usualEffort: "medium",
    summary: textOf(members.summary),
  };
}

/** Anthropic's `thinking`. Other providers' servers have it without a budget. */
function thinkingWish(value: Json): Wish {
  const field = "thinking";
  const {
    type,
    budget_tokens: budget,
    display,
  } = membersOf(value, field, ["type", "budget_tokens", "display"]);
  const isLittle = LITTLE_THINKING.has(type);
  if (type !== "enabled" && type !== "adaptive" && !isLittle) {
    throw cannot(`${field}.type`, "must be enabled, adaptive, disabled or between_tools");
  }
  if (display !== undefined && display !== null && display !== "summarized" && display !== "omitted") {
    throw cannot(`${field}.display`, "must be summarized or omitted");
  }
  const budgetAt = `${field}.budget_tokens`;
  const tokens = tokensOf(budget, budgetAt);
  if (type === "adaptive" && tokens !== null) throw cannot(budgetAt, "cannot be combined with type adaptive");
  return {
    field,
    effort: null,
    ...budgetOf(tokens, !isLittle),
    enabledAt: `${field}.type`,
    usualEffort: null,
    summary: null,
  };
}

/** A budget of no tokens turns thoughts off, as LiteLLM has it. */
function budgetOf(
  tokens: number | null,
  isEnabled: boolean | null,
): Pick<Wish, "budgetTokens" | "isEnabled"> {
  return tokens === 0 ? { budgetTokens: null, isEnabled: false } : { budgetTokens: tokens, isEnabled };
}

function membersOf(value: Json, field: string, known: readonly string[]): JsonObject {
  if (!isJsonObject(value)) throw cannot(field, "must be an object");
  const other = Object.keys(value).find((name) => !known.includes(name) && (value[name] ?? null) !== null);
  if (other !== undefined) throw cannot(`${field}.${other}`, `must be left out: ${field} has no such member`);
  return value;
}

function tokensOf(value: Json | undefined, at: string): number | null {
  if (value === undefined || value === null) return null;
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw cannot(at, "must be a whole number of tokens");
  return Number(value);
}

function requireBoolean(value: Json | undefined, at: string): boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "boolean") throw cannot(at, "must be true or false");
  return value;
}
