import type { Upstream } from "../../catalog/catalog.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import { hostOf } from "../host.ts";
import { hashOf } from "../identifiers.ts";
import { given } from "../write-conversation.ts";

/** OpenAI's hosts, without those of Azure. */
const OWN_HOST = /(?:^|\.)openai\.com$/;
/** Hosts of OpenAI itself, which have fields that other servers refuse. */
const OPENAI_HOST = /(?:^|\.)(?:openai\.com|azure\.com)$/;
/** Those that may serve OpenAI's models. At one of Azure's there are other providers' only, which may know only the older name of the limit. */
const NEW_LIMIT_HOST = /(?:^|\.)openai\.com$|(?<!\.models\.ai)\.azure\.com$/;
/** The minimum that OpenAI's models accept as the maximum of an answer. */
const MIN_TOKENS = 16;

export function isOpenAiHost(upstream: Upstream): boolean {
  return OPENAI_HOST.test(hostOf(upstream));
}

/**
 * The maximum tokens of an answer that an upstream is asked for. OpenAI's models with reasoning refuse a shorter answer than
 * {@link MIN_TOKENS}. Clients ask for one to see whether a model answers.
 */
export function answerTokens(upstream: Upstream, asked: number | null): number | null {
  return asked !== null && isOpenAiHost(upstream) ? Math.max(asked, MIN_TOKENS) : asked;
}

/** The limit of an answer, by the name that the upstream knows: OpenAI's models with reasoning refuse the older one, which others need. */
export function limitOf(upstream: Upstream, asked: number | null): LimitFields {
  const limit = given(answerTokens(upstream, asked));
  return NEW_LIMIT_HOST.test(hostOf(upstream)) ? { max_completion_tokens: limit } : { max_tokens: limit };
}

interface LimitFields {
  readonly max_completion_tokens?: number | undefined;
  readonly max_tokens?: number | undefined;
}

/** The longest id of a call that OpenAI's Chat Completions take. */
export const MAX_CHAT_CALL_ID_LENGTH = 40;
/** That of its Responses API, of a call and of an item. */
export const MAX_RESPONSES_ID_LENGTH = 64;

/** The longest identifier of a user that OpenAI has taken. */
const MAX_USER_LENGTH = 64;

/** An identifier of a user as OpenAI takes it. A longer one, as Claude Code's are, is replaced by its hash. */
export function userWithinLimit(user: string): string {
  return user.length <= MAX_USER_LENGTH ? user : hashOf(user);
}

/** The identifier of a user for Chat Completions. Only OpenAI's own are known to have a field for it: others may refuse it. */
export function safetyIdentifierOf(upstream: Upstream, user: string | null): string | undefined {
  const isTaken = user !== null && OWN_HOST.test(hostOf(upstream));
  return isTaken ? userWithinLimit(user) : undefined;
}

/** Claude Code's ids of users name the session. Other clients' ids are those of people, who may begin many conversations alike. */
const WITH_SESSION = /_session_|"session_id"/;

/**
 * The key by which OpenAI finds the cached beginning of a prompt. The Messages API has no field for it: without a key, the requests of a session of
 * Claude Code reach different caches.
 */
export function cacheKeyOf(
  upstream: Upstream,
  { promptCacheKey, user }: Pick<Conversation, "promptCacheKey" | "user">,
): string | undefined {
  const isOfSession = promptCacheKey === null && user !== null && WITH_SESSION.test(user);
  return isOfSession ? safetyIdentifierOf(upstream, user) : given(promptCacheKey);
}

/**
 * How an upstream gets the ids of calls; `null`: as they are. OpenAI refuses those of some other servers, such as vLLM's, which are longer than its
 * own. Servers that are compatible with it may have more in their ids than a name.
 */
export function callIdsFor(upstream: Upstream, maxLength: number): ((id: string) => string) | null {
  if (!isOpenAiHost(upstream)) return null;
  return (id) => (id.length <= maxLength ? id : `call_${hashOf(id)}`);
}
