import { cannot, type ToolCallPart } from "../conversation/conversation.ts";
import type { Failure } from "../errors/failure.ts";
import { BoundedParser } from "../json/bounded-parser.ts";
import { parseExact } from "../json/exact-numbers.ts";
import type { JsonObject } from "../json/json.ts";

/**
 * The inputs of the calls that a conversation holds, as objects, for providers that take no text. In a body they are texts, whose content its limits do not count:
 * all of them together have the limits of a body.
 */
export class EarlierCallInputs {
  readonly #parser = new BoundedParser();

  /**
   * Returns the input with its numbers exact, as {@link parseExact} reads them. A text that is no object, as of an answer that was cut off, is in an object, so that
   * the conversation can go on: Anthropic's documentation of streamed inputs recommends this form.
   *
   * @throws {Failure} `invalid_request` unless it is within the limits.
   */
  objectOf({ input, at }: ToolCallPart): JsonObject {
    if (input.trim() === "") return {};
    const measured = this.#parser.measure(input);
    if (measured === "too-much") {
      throw cannot(at, "must not hold more, together with the other calls, than a body may hold");
    }
    // A conversation may have many broken inputs, which count nothing: they are not parsed, because that may take as long as for a whole body each.
    const value = measured === "counted" ? parseExact(input) : null;
    return value ?? { INVALID_JSON: input };
  }
}

/** The refusal of a result whose call the conversation does not have. @param at The place of the call's id. */
export function resultWithoutCall(at: string): Failure {
  return cannot(at, "must be the id of a call that an earlier message has made");
}
