import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { objectOf } from "../../json/members.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { checkedUsage, isPlausible, totalUsage } from "../usage-counts.ts";

/**
 * Reads the `usage` object of Anthropic's Messages API: of a whole answer, or that of a stream's `message_start` overwritten with the
 * fields of its `message_delta`. Its `input_tokens` are neither read from nor written to the cache, so that the prompt is the sum of
 * all three.
 *
 * An answer may take several samplings, which `iterations` lists. Anthropic charges for each of them, but the totals do not contain those
 * that summarize the conversation or ask an advisor.
 *
 * @returns `null` unless its numbers are plausible.
 */
export function readMessagesUsage(value: unknown): Usage | null {
  if (!isJsonObject(value)) return null;
  const totals = totalsOf(value);
  const iterations = iterationsOf(value);
  if (totals === null || iterations === null) return totals;
  const { promptTokens, completionTokens } = totals;
  // Otherwise some are missing in the list.
  const areAll = iterations.promptTokens >= promptTokens && iterations.completionTokens >= completionTokens;
  const { reasoningTokens } = totals;
  return (areAll ? checkedUsage({ ...iterations, reasoningTokens }) : null) ?? totals;
}

/** The usage of all samplings together; `null` if they are not listed, or not plausible. */
function iterationsOf({ iterations }: JsonObject): Usage | null {
  if (!Array.isArray(iterations)) return null;
  return totalUsage(iterations.map((one) => (isJsonObject(one) ? totalsOf(one) : null)));
}

function totalsOf(value: JsonObject): Usage | null {
  const details = objectOf(value.cache_creation);
  const { thinking_tokens: reasoningTokens } = isJsonObject(value.output_tokens_details)
    ? value.output_tokens_details
    : {};
  const input = count(value.input_tokens);
  const cached = count(value.cache_read_input_tokens ?? 0);
  const for5m = count(details.ephemeral_5m_input_tokens ?? 0);
  const for1h = count(details.ephemeral_1h_input_tokens ?? 0);
  const total = count(value.cache_creation_input_tokens ?? 0);
  // Some servers that speak this API tell only the total, others only its parts.
  const written = Math.max(total, for5m + for1h);
  return checkedUsage({
    promptTokens: input + cached + written,
    // Required here, unlike in other formats.
    completionTokens: count(value.output_tokens),
    cachedTokens: cached,
    cacheWriteTokens: written - for1h,
    cacheWrite1hTokens: for1h,
    reasoningTokens,
  });
}

/** The value if it is a plausible count; otherwise `NaN`. */
function count(value: unknown): number {
  return typeof value === "number" && isPlausible(value) ? value : Number.NaN;
}

/** The members that count the prompt, and the one with the parts of one of them. */
const PROMPT_COUNTS = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
const PROMPT_MEMBERS = new Set([...PROMPT_COUNTS, "cache_creation"]);

/** The usage of a message. A stream reports it twice: that of the prompt at its beginning, and all of it at its end. */
export class MessageUsage {
  /** The usage that was reported so far. */
  soFar: Usage | null = null;
  /** The members that were reported so far. */
  #reported: JsonObject = {};
  #isFinal = false;

  /** Reads the usage of `message_start`. */
  begin(usage: unknown): void {
    if (!isJsonObject(usage)) return;
    const hasPrompt = PROMPT_COUNTS.some((name) => (usage[name] ?? 0) !== 0);
    const members = Object.entries(usage).filter(([name, value]) => {
      // Some servers write 0 for the prompt in a `message_delta`, although `message_start` had the count.
      const isKnown = !hasPrompt && PROMPT_MEMBERS.has(name) && name in this.#reported;
      return value !== null && !isKnown;
    });
    this.#reported = { ...this.#reported, ...Object.fromEntries(members) };
    this.soFar = readMessagesUsage(this.#reported);
  }

  /** Reads the usage of `message_delta`, which overwrites what was reported before, or of a whole message. */
  end(usage: unknown): void {
    this.begin(usage);
    this.#isFinal ||= isJsonObject(usage) && typeof usage.output_tokens === "number";
  }

  /** The complete usage; `null` before the end, or if the end did not report it. */
  get whole(): Usage | null {
    return this.#isFinal ? this.soFar : null;
  }
}
