import {
  type Conversation,
  cannot,
  type FilePart,
  nameOf,
  UNSUPPORTED,
  type UserPart,
} from "../conversation/conversation.ts";
import type { Failure } from "../errors/failure.ts";

/** What a provider can't express. Requests that need it are refused, because their answers would differ from what they ask for. */
export interface ConversationLimits {
  /** Fields that it does not support. */
  readonly unsupported: readonly (keyof Conversation)[];
  readonly maxTemperature: number;
  /** Whether a request can limit it to one call at a time. */
  readonly hasOneCallAtATime: boolean;
  /** Whether its answers can have the probabilities of their tokens. */
  readonly hasLogprobs: boolean;
  /** Whether its request has a place for the name of a file. */
  readonly hasFilename: (file: FilePart) => boolean;
}

/** @throws {Failure} `invalid_request` naming the field that can't be expressed. */
export function requireExpressible(conversation: Conversation, limits: ConversationLimits): void {
  for (const field of withoutEquivalent(conversation, limits)) {
    if (!conversation.optional.includes(field)) throw unsupported(nameOf(conversation, field));
  }
  requireSupported(conversation, limits.unsupported);
  const { temperature } = conversation;
  const { maxTemperature } = limits;
  if (temperature !== null && temperature > maxTemperature) {
    throw cannot(nameOf(conversation, "temperature"), `must be at most ${maxTemperature} for this model`);
  }
}

/**
 * Refuses fields that only the client's own format has, and those that the provider does not support.
 *
 * @throws {Failure} as {@link requireExpressible}.
 */
export function requireSupported(conversation: Conversation, fields: readonly (keyof Conversation)[]): void {
  for (const name of conversation.others.keys()) throw unsupported(name);
  for (const field of fields) {
    const value = conversation[field];
    // A penalty of 0 and an empty list ask for nothing.
    const isNeutral =
      value === null || (value === 0 && field !== "seed") || (Array.isArray(value) && value.length === 0);
    if (!isNeutral) throw unsupported(nameOf(conversation, field));
  }
}

/** The refusal of a field, by the client's name of it, that the provider does not support. */
export function unsupported(name: string): Failure {
  return cannot(name, UNSUPPORTED);
}

/**
 * Optional fields that the provider has no equivalent of, by the client's names, details of images, which its models choose, and names of
 * files. They are left out.
 */
export function leftOutOf(conversation: Conversation, limits: ConversationLimits): readonly string[] {
  const fields = withoutEquivalent(conversation, limits).map((field) => nameOf(conversation, field));
  const details = mediaIn(conversation).flatMap(detailOf);
  return [
    ...fields,
    ...cacheFieldsIn(conversation),
    ...details,
    ...filenamesIn(conversation, (file) => !limits.hasFilename(file)),
  ];
}

/** The places of the images that models have produced, for providers that do not take them back. */
export function producedImagesIn({ turns }: Conversation): readonly string[] {
  return turns.flatMap((turn) =>
    turn.role === "assistant" ? turn.parts.flatMap((part) => (part.kind === "image" ? [part.at] : [])) : [],
  );
}

/** The number of images of a conversation that a provider gets. @param ignored What is left out for it. */
export function imagesSent(conversation: Conversation, ignored: readonly string[]): number {
  const left = new Set(ignored);
  const shown = mediaIn(conversation).filter(({ kind }) => kind === "image");
  return shown.length + producedImagesIn(conversation).filter((at) => !left.has(at)).length;
}

/** The places of the names of files that have one. @param isLeftOut Whether the name of a file counts. */
export function filenamesIn(
  conversation: Conversation,
  isLeftOut: (file: FilePart) => boolean,
): readonly string[] {
  return mediaIn(conversation).flatMap((part) =>
    part.kind === "file" && part.filename !== null && isLeftOut(part) ? [part.filenameAt] : [],
  );
}

/** The fields about OpenAI's cache that the client has sent, by its names. */
export function cacheFieldsIn(conversation: Conversation): readonly string[] {
  return (["promptCacheRetention", "promptCacheOptions"] as const)
    .filter((field) => conversation[field] !== null)
    .map((field) => nameOf(conversation, field));
}

/** What the user and tools say. */
function mediaIn({ turns }: Conversation): readonly UserPart[] {
  return turns.flatMap((turn) => {
    if (turn.role === "tool") return turn.parts.flatMap(({ parts }) => parts);
    return turn.role === "user" ? turn.parts : [];
  });
}

function detailOf(part: UserPart): readonly string[] {
  return part.kind === "image" && part.detail !== null ? [`${part.at}.detail`] : [];
}

function withoutEquivalent(
  { verbosity, serviceTier, parallelToolCalls, tools, logprobs }: Conversation,
  { hasOneCallAtATime, hasLogprobs }: ConversationLimits,
): readonly (keyof Conversation)[] {
  const fields: (keyof Conversation)[] = [];
  if (verbosity !== null && verbosity !== "medium") fields.push("verbosity");
  if (!isUsualTier(serviceTier)) fields.push("serviceTier");
  if (parallelToolCalls === false && tools.length > 0 && !hasOneCallAtATime) fields.push("parallelToolCalls");
  if (logprobs !== null && !hasLogprobs) fields.push("logprobs");
  return fields;
}

/** Whether a service tier asks for nothing special. */
export function isUsualTier(tier: string | null): boolean {
  return tier === null || tier === "auto" || tier === "default";
}
