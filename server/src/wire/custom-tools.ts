import type { Tool } from "../conversation/conversation.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { objectOf, textOf } from "../json/members.ts";

/** The input of a custom tool, as a function has it. */
const CUSTOM_PARAMETERS: JsonObject = {
  type: "object",
  properties: { input: { type: "string", description: "The whole input of the tool, as plain text." } },
  required: ["input"],
  additionalProperties: false,
};

/**
 * The function that stands for a custom tool, whose input is plain text: other formats have functions only.
 *
 * @param grammar `definition` and `syntax` of the grammar of its input; anything else: none.
 */
export function customFunction(description: Json | undefined, grammar: Json | undefined): Omit<Tool, "name"> {
  return {
    description: customDescription(textOf(description) ?? "", objectOf(grammar)),
    parameters: CUSTOM_PARAMETERS,
    strict: null,
    cache: null,
  };
}

/** The input of a custom tool's call, as the function has it. */
export function customInputJson(input: string): string {
  return JSON.stringify({ input });
}

/** Adds the grammar to the description of a function, because a function can't bind its input to a grammar. */
function customDescription(description: string, { definition, syntax }: JsonObject): string {
  if (typeof definition !== "string") return description;
  const grammar = `The input must match this ${textOf(syntax) ?? "lark"} grammar:\n\n${definition}`;
  return description === "" ? grammar : `${description}\n\n${grammar}`;
}
