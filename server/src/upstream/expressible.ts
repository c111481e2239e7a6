import { type Conversation, cannot, nameOf, type Turn } from "../conversation/conversation.ts";
import type { Failure } from "../errors/failure.ts";

export const UNSUPPORTED = "is not supported by this model's provider; remove it, or choose another model";

/** The refusal of a request whose schemas can't be translated. */
export function untranslatable(): Failure {
  return cannot("body", "cannot be translated for this model's provider; check its schemas");
}

/** The request that `write` writes. @throws {Failure} `invalid_request` when a schema is nested more deeply than it can be written. */
export function writtenBy<Written>(write: () => Written): Written {
  try {
    return write();
  } catch (error) {
    throw error instanceof RangeError ? untranslatable() : error;
  }
}

/** What a provider can't express. Requests that need it are refused, because their answers would differ from what they ask for. */
export interface ConversationLimits {
  /** Fields that it does not support. */
  readonly unsupported: ReadonlySet<keyof Conversation>;
  readonly maxTemperature: number;
  /** Whether it can be told to make one call at a time. */
  readonly hasOneCallAtATime: boolean;
}

/** @throws {Failure} `invalid_request` naming the field that can't be expressed. */
export function requireExpressible(conversation: Conversation, limits: ConversationLimits): void {
  for (const field of unsupportedBy(conversation, limits)) {
    if (!conversation.optional.includes(field)) throw cannot(nameOf(conversation, field), UNSUPPORTED);
  }
  for (const name of conversation.others.keys()) throw cannot(name, UNSUPPORTED);
  for (const field of limits.unsupported) {
    const value = conversation[field];
    const isNeutral = value === null || (value === 0 && field !== "seed");
    if (!isNeutral) throw cannot(nameOf(conversation, field), UNSUPPORTED);
  }
  const { temperature } = conversation;
  const { maxTemperature } = limits;
  if (temperature !== null && temperature > maxTemperature) {
    throw cannot(nameOf(conversation, "temperature"), `must be at most ${maxTemperature} for this model`);
  }
}

/** Optional fields that the provider has no equivalent of, by the client's names, and details of images. They are left out. */
export function leftOutOf(conversation: Conversation, limits: ConversationLimits): readonly string[] {
  const fields = unsupportedBy(conversation, limits).map((field) => nameOf(conversation, field));
  return [...fields, ...conversation.turns.flatMap(optionalDetails)];
}

function optionalDetails(turn: Turn): readonly string[] {
  if (turn.role !== "user") return [];
  return turn.parts.flatMap((part) =>
    part.kind === "image" && part.detail !== null && part.isDetailOptional === true
      ? [`${part.at}.detail`]
      : [],
  );
}

function unsupportedBy(
  { verbosity, serviceTier, parallelToolCalls, tools }: Conversation,
  { hasOneCallAtATime }: ConversationLimits,
): readonly (keyof Conversation)[] {
  const isOneAtATime = parallelToolCalls === false && tools.length > 0;
  return [
    ...(verbosity === null || verbosity === "medium" ? [] : (["verbosity"] as const)),
    ...(serviceTier === null || serviceTier === "auto" || serviceTier === "default"
      ? []
      : (["serviceTier"] as const)),
    ...(isOneAtATime && !hasOneCallAtATime ? (["parallelToolCalls"] as const) : []),
  ];
}
