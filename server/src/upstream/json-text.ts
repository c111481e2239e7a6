import type { Json } from "../json/json.ts";
import { malformedResponse } from "./refusal.ts";

/** The JSON of a part of an upstream's answer. @throws {UpstreamRefused} when it is nested too deeply to be written. */
export function jsonText(value: Json): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw error instanceof RangeError ? malformedResponse() : error;
  }
}
