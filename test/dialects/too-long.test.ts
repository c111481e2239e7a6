import { describe, expect, it } from "vitest";
import { Failure } from "../../server/src/errors/failure.ts";
import { messagesErrorOf } from "../../server/src/errors/messages-error.ts";
import { UpstreamRefused } from "../../server/src/upstream/dialect.ts";
import { chat, messages, replayVendor, respond, upstreamOf } from "./dialect.ts";

const vendor = replayVendor(/https:\/\/models\.example\/v1\//);
const baseUrl = "https://models.example/v1";
const MESSAGES = [{ role: "user", content: "hi" }];

describe("a prompt that is too long for its model", () => {
  it.each([
    [
      "google",
      400,
      "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
    ],
    [
      "openai",
      400,
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    ],
    ["openai", 400, "The decoder prompt (length 9) is longer than the maximum model length of 8."],
    ["openai", 400, "the request exceeds the available context size, try increasing it"],
    ["openai", 400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."],
    ["openai", 422, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"],
    ["anthropic", 400, "prompt is too long: 210000 tokens > 200000 maximum"],
    // Bedrock, Moonshot, Zhipu, Alibaba, SGLang, LM Studio, Groq, Ollama, Cohere, GitHub, OpenRouter
    ["anthropic", 400, "Input is too long for requested model."],
    ["openai", 400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 263128)"],
    ["openai", 400, "Prompt exceeds max length"],
    ["openai", 400, "Range of input length should be [1, 129024]"],
    ["openai", 400, "The input (8200 tokens) is longer than the model's context length (8192 tokens)."],
    [
      "openai",
      400,
      "The number of tokens to keep from the initial prompt is greater than the context length.",
    ],
    ["openai", 400, "However, the model is loaded with context length of only 4096 tokens"],
    ["openai", 413, "Please reduce the length of the messages or completion."],
    ["openai", 400, "prompt too long; exceeded max context length by 4 tokens"],
    ["openai", 400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"],
    ["openai", 400, "Too many tokens: 9000 > 8192"],
    ["openai", 400, "The input has too many tokens"],
    ["openai", 400, "Invalid 'messages[1].content': the input is too long"],
    ["openai", 400, "The input is too long for the model 'small'"],
    ["openai", 400, "prompt token count of 140000 exceeds the limit of 128000"],
    ["openai", 400, "Input length 131393 exceeds the maximum allowed input length of 131040 tokens."],
  ])("is told as such by %s with %i: %s", async (dialect, status, message) => {
    const upstream = upstreamOf(dialect, { baseUrl });
    vendor.answers(status, { error: { type: "invalid_request_error", message, code: status } });
    const failure = { code: "context_length_exceeded", message };
    await expect(chat(upstream, "m", { messages: MESSAGES })).rejects.toMatchObject({ status, failure });
    await expect(respond(upstream, "m", { input: "hi" })).rejects.toMatchObject({ failure });
    const refused: unknown = await messages(upstream, "m", { messages: MESSAGES, max_tokens: 9 }).catch(
      (thrown) => thrown,
    );
    if (!(refused instanceof UpstreamRefused)) throw new Error("it was not refused");
    // Claude Code looks for these words.
    expect(messagesErrorOf(refused.failure).error.message).toMatch(/^prompt is too long: /);
  });

  it.each([
    [400, "messages: at least one message is required"],
    [400, "'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens."],
    // Claude Code asks for a shorter answer then.
    [400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"],
    [400, "Invalid value for 'user': input is too long, maximum 64"],
    [400, "input too long: tools[3].function.name must have at most 64 characters"],
    [400, "Invalid 'tools[0].description': too many tokens in a tool"],
    [400, "Too many tokens requested for the answer: at most 4096"],
    [429, "You exceeded the maximum number of tokens allowed per minute."],
    [500, "The context window could not be loaded."],
  ])("is not what another refusal is taken for: %i %s", async (status, message) => {
    vendor.answers(status, { error: { message } });
    const refused: unknown = await chat(upstreamOf("openai", { baseUrl }), "m", { messages: MESSAGES }).catch(
      (thrown) => thrown,
    );
    expect(refused).toMatchObject({ failure: { code: expect.not.stringContaining("context") } });
  });
});

describe("a field that is too long", () => {
  const message = "input is too long, maximum 64";
  it.each([
    ["metadata.user_id", "invalid_request"],
    ["prompt_cache_key", "invalid_request"],
    ["messages[0].content", "context_length_exceeded"],
    ["messages.0.content", "context_length_exceeded"],
    ["input", "context_length_exceeded"],
    // vLLM
    ["input_tokens", "context_length_exceeded"],
  ])("is a prompt that is too long only if it is the prompt's: %s", async (param, code) => {
    vendor.answers(400, { error: { message, param } });
    await expect(chat(upstreamOf("openai", { baseUrl }), "m", { messages: MESSAGES })).rejects.toMatchObject({
      failure: { code },
    });
  });
});

describe("an answer that is too long beside its prompt", () => {
  it.each([
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 65536 tokens and your request has 40000 input tokens (32000 > 65536 - 40000).",
      "input length and `max_tokens` exceed context limit: 40000 + 32000 > 65536, decrease input length or `max_tokens` and try again",
    ],
    [
      "This model's maximum context length is 65536 tokens. However, you requested 72000 tokens (40000 in the messages, 32000 in the completion).",
      "input length and `max_tokens` exceed context limit: 40000 + 32000 > 65536, decrease input length or `max_tokens` and try again",
    ],
    [
      "'max_tokens' is too large: 32000. This model's maximum context length is 65536 tokens and your request has 65000 input tokens.",
      expect.stringMatching(/^prompt is too long: /),
    ],
    [
      "This model's maximum context length is 65536 tokens. However, you requested 32000 output tokens and your prompt contains 40000 input tokens, for a total of 72000 tokens.",
      "input length and `max_tokens` exceed context limit: 40000 + 32000 > 65536, decrease input length or `max_tokens` and try again",
    ],
  ])("is told in the words by which Claude Code asks for a shorter one: %s", async (message, told) => {
    vendor.answers(400, { error: { message } });
    const asked = { messages: MESSAGES, max_tokens: 32_000 };
    const refused: unknown = await messages(upstreamOf("openai", { baseUrl }), "m", asked).catch(
      (thrown) => thrown,
    );
    if (!(refused instanceof UpstreamRefused)) throw new Error("it was not refused");
    expect(messagesErrorOf(refused.failure).error.message).toEqual(told);
  });
});

describe("a prompt of which vLLM counts only so much that it does not fit", () => {
  const CONTEXT = 65_536;
  const asFar = (prompt: number, answer: number) => {
    const least = Math.min(prompt, Math.max(0, CONTEXT - answer) + 1);
    return `your prompt contains at least ${least} input tokens, for a total of at least ${least + answer} tokens.`;
  };
  const byCharacters = (prompt: number, answer: number) => {
    const bound = Math.max(0, CONTEXT - answer);
    return `your prompt contains ${prompt * 4} characters (more than ${bound * 10} characters, which is the upper bound for ${bound} input tokens).`;
  };

  it.each([
    ["fits beside a shorter answer", asFar, 10_000, 64_000, null],
    ["fits beside an answer that is shorter than the context", asFar, 10_000, 200_000, null],
    ["fits by its characters", byCharacters, 40_000, 64_000, null],
    ["leaves no place", asFar, 64_000, 64_000, "prompt is too long"],
    ["is longer than the context", asFar, 90_000, 64_000, "prompt is too long"],
  ] as const)(
    "is sent again by Claude Code, which follows the advice, no more than four times if it %s",
    (_, counted, prompt, asked, expected) => {
      let answer: number = asked;
      let told: string | null = null;
      let sent = 1;
      for (; prompt + answer > CONTEXT; sent += 1) {
        const message = `This model's maximum context length is ${CONTEXT} tokens. However, you requested ${answer} output tokens and ${counted(prompt, answer)}`;
        told = messagesErrorOf(new Failure("context_length_exceeded", message)).error.message;
        const advice = /exceed context limit: (\d+) \+ \d+ > (\d+)/.exec(told);
        if (advice === null) break;
        told = null;
        // It leaves room for a thousand tokens more.
        answer = Number(advice[2]) - Number(advice[1]) - 1_000;
      }
      if (expected === null) expect(told).toBeNull();
      else expect(told).toContain(expected);
      expect(sent).toBeLessThanOrEqual(5);
    },
  );
});

describe("a message of an error that is long", () => {
  it("is read only at its beginning", () => {
    const message = "maximum context length is 1 tokens. ".repeat(2_000);
    const begunMs = performance.now();
    messagesErrorOf(new Failure("invalid_request", message));
    expect(performance.now() - begunMs).toBeLessThan(200);
  });
});

describe("a prompt whose code says that it is too long", () => {
  it("is not what another server's code 1261 means", async () => {
    vendor.answers(500, { error: { code: "1261", message: "Internal error" } });
    await expect(chat(upstreamOf("openai", { baseUrl }), "m", { messages: MESSAGES })).rejects.toMatchObject({
      failure: { code: "upstream_error" },
    });
  });

  it.each(["1261", "model_context_window_exceeded"])("is told as such: %s", async (code) => {
    vendor.answers(400, { error: { code, message: "Prompt 超长" } });
    const failure = { code: "context_length_exceeded", message: "Prompt 超长" };
    await expect(chat(upstreamOf("openai", { baseUrl }), "m", { messages: MESSAGES })).rejects.toMatchObject({
      failure,
    });
  });
});

describe("an upstream's refusal", () => {
  const upstream = upstreamOf("openai", { baseUrl });
  const LONG = "Prompt contains 40000 tokens, too large for model with 32768 maximum context length";
  const wrong = [{ type: "missing", loc: ["body", "messages", 0, "role"], msg: "Field required" }];

  it.each([
    ["a text (LM Studio, TGI)", { error: LONG }],
    [
      "its members at the top (Mistral, Cohere, older vLLM)",
      { object: "error", message: LONG, code: "3051" },
    ],
    ["a detail (FastAPI)", { detail: LONG }],
  ])("is understood where the error is %s", async (_, body) => {
    vendor.answers(400, body);
    const failure = { code: "context_length_exceeded", message: LONG };
    await expect(chat(upstream, "m", { messages: MESSAGES })).rejects.toMatchObject({ failure });
  });

  it.each([
    ["a list of details (FastAPI)", { detail: wrong }],
    ["a message with such a list (Mistral)", { object: "error", message: { detail: wrong } }],
  ])("names the field where the error is %s", async (_, body) => {
    vendor.answers(422, body);
    const failure = { code: "invalid_request", message: "Field required", param: "messages.0.role" };
    await expect(chat(upstream, "m", { messages: MESSAGES })).rejects.toMatchObject({ failure });
  });

  it.each([
    { detail: [] },
    { detail: [null] },
    { detail: [{ loc: [{}], msg: 1 }] },
    { message: {} },
    [],
    "no",
  ])("has the service's own words if the body says nothing: %j", async (body) => {
    vendor.answers(400, body as object);
    const failure = { code: "invalid_request", param: null, message: expect.stringContaining("rejected") };
    await expect(chat(upstream, "m", { messages: MESSAGES })).rejects.toMatchObject({ failure });
  });
});
