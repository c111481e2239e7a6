import { isJsonObject, type JsonObject } from "../../json/json.ts";

/** The members of a response that repeat its request, or the default of what was not asked for. */
export function repeatedFields(body: JsonObject): JsonObject {
  const text = isJsonObject(body.text) ? body.text : {};
  const reasoning = isJsonObject(body.reasoning) ? body.reasoning : {};
  return {
    background: false,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...reasoning },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier ?? "default",
    temperature: body.temperature ?? 1,
    text: { ...text, format: text.format ?? { type: "text" }, verbosity: text.verbosity ?? "medium" },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    user: body.user ?? null,
  };
}
