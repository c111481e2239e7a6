import type { JsonObject } from "../../json/json.ts";

/** Why a choice has finished; `null` while it has not. Some servers write an empty reason in every chunk of a stream. */
export function finishReasonOf({ finish_reason: reason }: JsonObject): string | null {
  return typeof reason === "string" && reason !== "" ? reason : null;
}
