import { json, ref, type Schema } from "./openapi-parts.ts";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer" };
const listOf = (items: Schema): Schema => ({ type: "array", items });
/** Some upstreams write `null` where others leave a field out. */
const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, "null"] });

/**
 * An object with these fields and others. Answers of an upstream that speaks the client's format are passed on, so that only what the
 * service itself reads or writes is certain to be there.
 */
function answered(properties: Readonly<Record<string, Schema>>, certain: readonly string[]): Schema {
  return { type: "object", required: certain, properties };
}

const TOKENS = answered({ prompt_tokens: count, completion_tokens: count, total_tokens: count }, []);

const TOOL_CALL = answered(
  { id: text, type: text, function: answered({ name: text, arguments: text }, []) },
  [],
);

const CHAT_COMPLETION = answered(
  {
    id: text,
    object: text,
    created: { type: "integer", description: "Unix seconds" },
    model: { type: "string", description: "The catalog's id of the model" },
    choices: listOf(
      answered(
        {
          index: count,
          message: answered(
            {
              role: text,
              content: orNull(text),
              refusal: orNull(text),
              tool_calls: orNull(listOf(TOOL_CALL)),
            },
            [],
          ),
          finish_reason: orNull(text),
          logprobs: orNull({ type: "object" }),
        },
        ["message"],
      ),
    ),
    usage: orNull(TOKENS),
  },
  ["model", "choices"],
);

const MESSAGE = answered(
  {
    id: text,
    type: text,
    role: text,
    model: { type: "string", description: "The catalog's id of the model" },
    content: listOf(
      answered({ type: text, text, id: text, name: text, input: { type: "object" }, thinking: text }, [
        "type",
      ]),
    ),
    stop_reason: orNull(text),
    stop_sequence: orNull(text),
    usage: answered({ input_tokens: count, output_tokens: count }, []),
  },
  ["model", "content"],
);

/** A response, as `POST /v1/responses` answers with it and `GET /v1/responses/{id}` reads it again. */
const RESPONSE = answered(
  {
    id: text,
    object: text,
    created_at: { type: "number", description: "Unix seconds" },
    status: text,
    model: { type: "string", description: "The catalog's id of the model" },
    output: listOf(
      answered(
        {
          type: text,
          id: text,
          status: text,
          role: text,
          content: listOf(answered({ type: text, text, refusal: text }, ["type"])),
          call_id: text,
          name: text,
          arguments: text,
        },
        ["type"],
      ),
    ),
    usage: orNull(answered({ input_tokens: count, output_tokens: count, total_tokens: count }, [])),
  },
  ["id", "model", "output"],
);

const EMBEDDINGS = answered(
  {
    object: text,
    model: { type: "string", description: "The catalog's id of the model" },
    data: listOf(
      answered(
        {
          object: text,
          index: count,
          embedding: {
            description: "Numbers; with `encoding_format: base64` the bytes of 32-bit floats in Base64",
            anyOf: [listOf({ type: "number" }), text],
          },
        },
        ["embedding"],
      ),
    ),
    usage: orNull(answered({ prompt_tokens: count, total_tokens: count }, [])),
  },
  ["model", "data"],
);

/** The schemas of models' answers. Generated clients have classes of these names, of which `Response` would hide their own. */
export const MODEL_ANSWERS = {
  ChatCompletion: CHAT_COMPLETION,
  Message: MESSAGE,
  ModelResponse: RESPONSE,
  Embeddings: EMBEDDINGS,
} as const;

/** What a model answers: in JSON, or with `stream` as server-sent events. */
export function modelAnswer(
  name: keyof typeof MODEL_ANSWERS,
  description: string,
  { isStreamable }: { readonly isStreamable: boolean },
): Schema {
  const events = isStreamable ? { "text/event-stream": { schema: text } } : {};
  return { description, content: { ...json(ref(name)), ...events } };
}
