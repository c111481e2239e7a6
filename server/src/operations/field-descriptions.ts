// Generated from the server's router by `npm run procedures`. Do not edit.

/** What the fields of entries and models mean: the comments of the SDK's types, by the names of schemas and fields. */
export const FIELD_DESCRIPTIONS: Readonly<
  Record<"AuditEntry" | "Model" | "ModelPricing", Readonly<Record<string, string>>>
> = {
  AuditEntry: {
    id: "The id of the entry, a UUIDv7: entries sort by it in the order of their requests.",
    request_id:
      "The id of the request, which the client received in `x-request-id`: `req_` and 32 hexadecimal digits.",
    timestamp: "When the request arrived. In JSON it is an RFC 3339 time in UTC, with milliseconds.",
    key_id: "Last 4 characters of the key string.",
    key_name:
      "The present name of the key; empty if the database was restored from a backup that is older than the key.",
    endpoint: "Method and path of the operation, such as `POST /v1/chat/completions`.",
    model:
      "The catalog's id of the model, or the requested name when the catalog has no such model; `null`: none was named.",
    upstream: "The name of the upstream that answered or failed; `null`: the request was sent to none.",
    status: "The HTTP status of the answer; 499 when the client disconnected before the answer.",
    error_code:
      "The code of the error that the request ended with, such as `rate_limit_exceeded`; `null`: none.",
    end_reason:
      "How the request ended. `stop`: the answer was sent completely; `refused`: the service or the upstream refused the request; `client_gone`: the client disconnected; `upstream_error`: the upstream failed; `timeout`: it did not answer in time; `shutdown`: the service stopped; `node_lost`: the process died, so that the outcome is unknown.",
    usage_source:
      "Where the token counts come from: `upstream` reported them, `estimated` by the service, or `none`.",
    prompt_tokens: "The tokens of the prompt; `null`: unknown.",
    completion_tokens: "The tokens of the answer; `null`: unknown.",
    cached_tokens: "The part of the prompt's tokens that the upstream read from its cache; `null`: unknown.",
    token_count: "Prompt and completion tokens together; `null`: unknown.",
    cost_nano_usd:
      "The cost in whole nano-USD (1 USD is 1,000,000,000 nano-USD), by the catalog's prices; 0: nothing was charged.",
    latency_ms: "Milliseconds from the arrival of the request to the end of the answer.",
    time_to_first_token_ms:
      "Milliseconds from the arrival of the request to the first token; `null`: there was none.",
    source_ip:
      "The IPv4 or IPv6 address of the client; `null` when a trusted proxy sent one that can't be parsed.",
    would_refuse:
      "The error code that IP rules in report mode would have refused the request with; `null`: they would not.",
    cache_write_tokens:
      "The part of the prompt's tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell; `null`: unknown.",
    cache_write_1h_tokens:
      "The part of the prompt's tokens that the upstream wrote to its cache for an hour; `null`: unknown.",
    reasoning_tokens: "The part of the completion's tokens that are of reasoning; `null`: unknown.",
    audio_tokens:
      "The tokens of recordings in the prompt and of speech in the answer together; `null`: unknown.",
    image_tokens: "The tokens of images in the prompt and in the answer together; `null`: unknown.",
  },
  Model: {
    id: "The id of the model, which requests name.",
    object: "The kind of the object.",
    created: "When the model was added to the catalog, in Unix seconds.",
    owned_by: "The organization that made the model.",
    sandbox: "Whether the model is a sandbox model, which answers without a real model.",
    aliases: "Other names by which requests may name the model.",
    context_tokens: "The maximum tokens of prompt and answer together; `null`: unknown.",
    max_output_tokens: "The maximum tokens of one answer; `null`: unknown.",
    modalities: "What the model reads and writes: `text`, `image`, `audio`, `video`, `file`, `embedding`.",
    pricing: "The prices in USD, as exact decimal strings; `null`: the model is free.",
  },
  ModelPricing: {
    input_usd_per_mtok: "For a million prompt tokens.",
    cached_input_usd_per_mtok: "For a million prompt tokens that the upstream read from its cache.",
    cache_write_usd_per_mtok:
      "For a million prompt tokens that the upstream wrote to its cache for 5 minutes, or for a time that it does not tell.",
    cache_write_1h_usd_per_mtok:
      "For a million prompt tokens that the upstream wrote to its cache for an hour.",
    audio_input_usd_per_mtok: "For a million prompt tokens of recordings.",
    image_input_usd_per_mtok: "For a million prompt tokens of images.",
    output_usd_per_mtok: "For a million tokens of answers.",
    reasoning_usd_per_mtok: "For a million tokens of the model's reasoning.",
    audio_output_usd_per_mtok: "For a million tokens of spoken answers.",
    image_output_usd_per_mtok: "For a million tokens of images in answers.",
    image_usd: "For each image in a prompt, in addition to its tokens.",
  },
};
