import type { FinishReason } from "../../conversation/answer.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";

/** The reasons of Mistral and OpenRouter, and of Zhipu, for an answer that is not complete, because its provider has failed. */
const FAILED = new Set(["error", "network_error"]);
/** That of OpenAI, and of Zhipu, for an answer that a filter has ended. */
const FILTERED = new Set(["content_filter", "sensitive"]);

/** Why a choice has finished; `null` while it has not. Some servers write an empty reason in every chunk of a stream. */
export function finishReasonOf({ finish_reason: reason }: JsonObject): string | null {
  return typeof reason === "string" && reason !== "" ? reason : null;
}

/** Whether a reason is that the provider has failed. */
export function isFailure(reason: string | null): boolean {
  return reason !== null && FAILED.has(reason);
}

/** Whether a reason is that a filter has ended the answer. */
export function isFiltered(reason: string | null): boolean {
  return reason !== null && FILTERED.has(reason);
}

/** Whether some choice has ended because the provider has failed. */
export function hasFailure(choices: Json | undefined): boolean {
  return (
    Array.isArray(choices) &&
    choices.some((choice) => isJsonObject(choice) && isFailure(finishReasonOf(choice)))
  );
}

/**
 * The finish reason in the terms of conversations. The calls that an answer contains decide whether it ended with calls, because some servers name
 * calls that they have not made, or do not name those that they have.
 *
 * @param calls `isCut`: whether the last call was cut off. vLLM then gives the calls as its reason, and not that the maximum was reached.
 */
export function finishOf(
  reason: string,
  calls: { readonly areMade: boolean; readonly isCut: boolean },
): FinishReason {
  if (isFiltered(reason)) return "filter";
  switch (reason) {
    case "length":
    // Mistral, DeepSeek and Zhipu have these reasons for an answer that was cut off by the model's context or by a lack of resources.
    case "model_length":
    case "insufficient_system_resource":
    case "model_context_window_exceeded":
      return "length";
    default:
      if (calls.isCut) return "length";
      return calls.areMade ? "calls" : "stop";
  }
}
