import { beforeEach, describe, expect, it } from "vitest";
import { chat, chunks, messageOf, replayVendor, upstreamOf, WEATHER_TOOL, whole } from "./dialect.ts";

// What clients of OpenRouter (`reasoning`) and LiteLLM (`thinking`) ask of a model's thoughts, as upstreams of other formats get it.
const vendor = replayVendor(/https:\/\/models\.example\/v1\/(?:responses|messages|models\/.*)/);
const baseUrl = "https://models.example/v1";
const responses = upstreamOf("openai-responses", { baseUrl });
const anthropic = upstreamOf("anthropic", { baseUrl });
const google = upstreamOf("google", { baseUrl });
/** An answer in all three formats. */
const ANSWER = {
  status: "completed",
  output: [],
  content: [
    { type: "thinking", thinking: "Hm", signature: "s" },
    { type: "text", text: "Fine." },
  ],
  stop_reason: "end_turn",
  candidates: [
    { content: { parts: [{ text: "Hm", thought: true }, { text: "Fine." }] }, finishReason: "STOP" },
  ],
  usage: { input_tokens: 1, output_tokens: 1 },
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
};
const HI = { messages: [{ role: "user", content: "Hi" }] };

beforeEach(() => vendor.answers(200, ANSWER));

/** What the three kinds of upstreams are asked for. */
async function askedOf(fields: object) {
  await chat(anthropic, "claude-sonnet-4-5", { ...HI, ...fields });
  await chat(anthropic, "claude-opus-5-5", { ...HI, ...fields });
  await chat(google, "gemini-2.5-flash", { ...HI, ...fields });
  await chat(responses, "gpt-5", { ...HI, ...fields });
  const [budget, adaptive, gemini, gpt] = vendor.sent.map(({ body }) => body);
  return {
    budget: budget.thinking,
    adaptive: { thinking: adaptive.thinking, effort: adaptive.output_config?.effort },
    gemini: gemini.generationConfig.thinkingConfig,
    gpt: gpt.reasoning,
  };
}

describe("a chat completion that asks a model to think in the words of OpenRouter or LiteLLM", () => {
  const medium = {
    budget: { type: "enabled", budget_tokens: 19_200 },
    adaptive: { thinking: { type: "adaptive", display: "summarized" }, effort: "medium" },
    gemini: { includeThoughts: true, thinkingBudget: 19_661 },
    gpt: { effort: "medium" },
  };
  it.each([
    { reasoning: { effort: "medium" } },
    { reasoning: { effort: "medium", enabled: true, exclude: false, max_tokens: null } },
    { reasoning: { enabled: true } },
    { reasoning: { enabled: true }, reasoning_effort: "medium", include_reasoning: true },
    { reasoning: { effort: "medium" }, reasoning_effort: "medium" },
    { reasoning: {}, reasoning_effort: "medium" },
    { thinking: { type: "enabled" }, reasoning_effort: "medium" },
    { thinking: { type: "adaptive" }, reasoning_effort: "medium" },
  ])("has the effort of %j", async (fields) => {
    expect(await askedOf(fields)).toEqual(medium);
  });

  it.each([
    { reasoning: { max_tokens: 6_000 } },
    { reasoning: { max_tokens: 6_000, enabled: true } },
    { thinking: { type: "enabled", budget_tokens: 6_000 } },
  ])("has the budget of %j, or the effort that stands for it", async (fields) => {
    expect(await askedOf(fields)).toEqual({
      budget: { type: "enabled", budget_tokens: 6_000 },
      adaptive: { thinking: { type: "adaptive", display: "summarized" } },
      gemini: { includeThoughts: true, thinkingBudget: 6_000 },
      gpt: { effort: "medium" },
    });
  });

  it.each([{ thinking: { type: "adaptive" } }, { thinking: { type: "enabled" } }])(
    "leaves to the model how much it thinks with %j",
    async (fields) => {
      expect(await askedOf(fields)).toEqual({
        ...medium,
        adaptive: { thinking: { type: "adaptive", display: "summarized" } },
        gemini: { includeThoughts: true },
        gpt: undefined,
      });
    },
  );

  it.each([
    { reasoning: { enabled: false } },
    { reasoning: { enabled: false, effort: "none" } },
    { reasoning: { effort: "none" } },
    { reasoning: { max_tokens: 0 } },
    { thinking: { type: "disabled" } },
    { thinking: { type: "between_tools" } },
    { thinking: { type: "disabled", budget_tokens: 0 } },
    { thinking: { type: "enabled", budget_tokens: 0 } },
  ])("has it think as little as it can with %j", async (fields) => {
    expect(await askedOf(fields)).toEqual({
      budget: { type: "disabled" },
      adaptive: { effort: "low" },
      gemini: { thinkingBudget: 0 },
      gpt: { effort: "none" },
    });
  });

  it.each([
    { reasoning: null, thinking: null, include_reasoning: null },
    { reasoning: {} },
    { reasoning: { exclude: true } },
    { include_reasoning: false },
  ])("leaves it to the model whether it thinks with %j", async (fields) => {
    expect(await askedOf(fields)).toEqual({ adaptive: {} });
  });

  it("asks the Responses API for the summary that it wants", async () => {
    await chat(responses, "gpt-5", { ...HI, reasoning: { effort: "high", summary: "detailed" } });
    expect(vendor.sent[0]?.body.reasoning).toEqual({ effort: "high", summary: "detailed" });
  });

  it("is refused under the name of its own field if a model has no budgets", async () => {
    const asked = { ...HI, thinking: { type: "enabled", budget_tokens: 6_000 } };
    expect((await chat(anthropic, "claude-opus-5-5", asked)).ignored).toEqual(["thinking"]);
    const other = { ...HI, reasoning: { max_tokens: 6_000 } };
    expect((await chat(anthropic, "claude-opus-5-5", other)).ignored).toEqual(["reasoning"]);
  });
});

describe("a chat completion that asks a model to think which does not", () => {
  const message = "Unable to submit request because Thinking is not supported by this model.";

  it("is answered without in the words of OpenRouter, which ignores them then", async () => {
    vendor.answersOnce(400, { error: { code: 400, message, status: "INVALID_ARGUMENT" } });
    const asked = { ...HI, reasoning: { effort: "low" } };
    const answer = await chat(google, "gemini-2.0-flash", asked);
    expect(answer.ignored).toEqual(["reasoning"]);
    expect(vendor.sent[1]?.body.generationConfig.thinkingConfig).toBeUndefined();
  });

  it.each([{ reasoning_effort: "low" }, { thinking: { type: "enabled", budget_tokens: 2_000 } }])(
    "is refused as the upstream refuses it with %j",
    async (fields) => {
      vendor.answersOnce(400, { error: { code: 400, message, status: "INVALID_ARGUMENT" } });
      const asked = chat(google, "gemini-2.0-flash", { ...HI, ...fields });
      await expect(asked).rejects.toMatchObject({ failure: { code: "invalid_request", message } });
      expect(vendor.sent).toHaveLength(1);
    },
  );
});

/** The members in which clients of OpenRouter read a thought. */
const OF_OPENROUTER = {
  reasoning_content: "Hm",
  reasoning: "Hm",
  reasoning_details: [expect.objectContaining({ type: "reasoning.text", text: "Hm" })],
};

describe("the thoughts of a chat completion", () => {
  const reasoning = { effort: "low" };

  it.each([
    { reasoning: { ...reasoning, exclude: true } },
    { reasoning, include_reasoning: false },
    { thinking: { type: "enabled", budget_tokens: 2_000, display: "omitted" } },
  ])("are not in an answer that excludes them: %j", async (fields) => {
    const { choices } = await whole(chat(anthropic, "claude-sonnet-4-5", { ...HI, ...fields }));
    expect(choices[0].message).toEqual({ role: "assistant", content: "Fine.", refusal: null });
    await chat(google, "gemini-2.5-flash", { ...HI, ...fields });
    expect(vendor.sent[1]?.body.generationConfig.thinkingConfig).not.toHaveProperty("includeThoughts");
  });

  it.each([
    [{ reasoning }, OF_OPENROUTER],
    [{ reasoning: { ...reasoning, exclude: false }, include_reasoning: true }, OF_OPENROUTER],
    [{ reasoning_effort: "low", include_reasoning: true }, OF_OPENROUTER],
    [{ reasoning_effort: "low" }, { reasoning_content: "Hm" }],
    [
      { thinking: { type: "enabled", budget_tokens: 2_000, display: "summarized" } },
      { reasoning_content: "Hm", thinking_blocks: [expect.objectContaining({ thinking: "Hm" })] },
    ],
  ])("are in an answer to %j, in the members that the client reads", async (fields, thoughts) => {
    const usual = { role: "assistant", content: "Fine.", refusal: null };
    const { choices } = await whole(chat(anthropic, "claude-sonnet-4-5", { ...HI, ...fields }));
    expect(choices[0].message).toEqual({ ...usual, ...thoughts });
    const parts = [{ text: "Hm", thought: true }, { text: "Fine." }];
    vendor.streams(
      `data: ${JSON.stringify({ candidates: [{ content: { parts }, finishReason: "STOP" }] })}\n\n`,
    );
    const found = await chunks(chat(google, "gemini-2.5-flash", { ...HI, stream: true, ...fields }));
    expect(found[0]?.choices[0].delta).toEqual({ role: "assistant", ...thoughts });
  });

  it("are not in a stream that excludes them", async () => {
    const parts = [{ text: "Hm", thought: true }, { text: "Fine." }];
    const piece = { candidates: [{ content: { parts }, finishReason: "STOP" }] };
    vendor.streams(`data: ${JSON.stringify(piece)}\n\n`);
    const asked = { ...HI, stream: true, reasoning: { ...reasoning, exclude: true } };
    const found = await chunks(chat(google, "gemini-2.5-flash", asked));
    expect(messageOf(found)).toMatchObject({ content: "Fine.", reasoning: "" });
  });
});

describe("the budget of a chat completion for thoughts", () => {
  const asked = (budget: number, fields: object, paid: number | null = null) =>
    chat(
      anthropic,
      "claude-sonnet-4-5",
      { ...HI, reasoning: { max_tokens: budget }, ...fields },
      { maxTokens: paid },
    );
  const sent = () => {
    const { max_tokens, thinking } = vendor.sent.at(-1)?.body ?? {};
    return [max_tokens, thinking.budget_tokens];
  };

  it("is a part of the answer's maximum", async () => {
    await asked(6_000, { max_tokens: 8_000 });
    expect(sent()).toEqual([8_000, 6_000]);
    await asked(6_000, { max_tokens: 8_000 }, 8_000);
    expect(sent()).toEqual([8_000, 6_000]);
    await asked(6_000, { max_tokens: 8_000 }, 5_000);
    expect(sent()).toEqual([5_000, 4_000]);
  });

  it("is at least Anthropic's minimum, and leaves room for the answer in a model's maximum", async () => {
    await asked(1, {});
    expect(sent()).toEqual([64_000, 1_024]);
    await asked(1_000_000, {});
    expect(sent()).toEqual([64_000, 51_200]);
  });

  it.each([
    [2_000, 2_000],
    [1, 1_024],
  ])("is refused if nothing is left for the answer: %i of %i", async (budget, max_tokens) => {
    await expect(asked(budget, { max_tokens })).rejects.toMatchObject({
      code: "invalid_request",
      param: "reasoning",
      message: expect.stringContaining("max_tokens"),
    });
    expect(vendor.sent).toEqual([]);
  });
});

describe("a chat completion whose wish for thoughts can't be meant", () => {
  it.each([
    [{ reasoning: "high" }, "reasoning"],
    [{ reasoning: { effort: "enormous" } }, "reasoning.effort"],
    [{ reasoning: { effort: "high", max_tokens: 2_000 } }, "reasoning"],
    [{ reasoning: { max_tokens: -1 } }, "reasoning.max_tokens"],
    [{ reasoning: { max_tokens: 1.5 } }, "reasoning.max_tokens"],
    [{ reasoning: { max_tokens: "2000" } }, "reasoning.max_tokens"],
    [{ reasoning: { enabled: "yes" } }, "reasoning.enabled"],
    [{ reasoning: { exclude: 1 } }, "reasoning.exclude"],
    [{ reasoning: { enabled: false, effort: "high" } }, "reasoning.enabled"],
    [{ reasoning: { enabled: true, effort: "none" } }, "reasoning.enabled"],
    [{ reasoning: { enabled: false, max_tokens: 2_000 } }, "reasoning.enabled"],
    [{ reasoning: { depth: 3 } }, "reasoning.depth"],
    [{ reasoning: { effort: "high" }, reasoning_effort: "low" }, "reasoning_effort"],
    [{ reasoning: { max_tokens: 2_000 }, reasoning_effort: "low" }, "reasoning_effort"],
    [{ reasoning: { enabled: false }, reasoning_effort: "low" }, "reasoning.enabled"],
    [{ reasoning: { effort: "high" }, thinking: { type: "enabled" } }, "thinking"],
    [{ thinking: true }, "thinking"],
    [{ thinking: {} }, "thinking.type"],
    [{ thinking: { type: "deep" } }, "thinking.type"],
    [{ thinking: { type: "enabled", budget_tokens: "many" } }, "thinking.budget_tokens"],
    [{ thinking: { type: "disabled", budget_tokens: 2_000 } }, "thinking.type"],
    [{ thinking: { type: "adaptive", budget_tokens: 2_000 } }, "thinking.budget_tokens"],
    [{ thinking: { type: "enabled", budget_tokens: 2_000 }, reasoning_effort: "low" }, "reasoning_effort"],
    [{ thinking: { type: "disabled" }, reasoning_effort: "low" }, "thinking.type"],
    [{ thinking: { type: "enabled", display: "loud" } }, "thinking.display"],
    [{ thinking: { type: "enabled", depth: 3 } }, "thinking.depth"],
    [{ include_reasoning: "no" }, "include_reasoning"],
  ])("is refused: %j", async (fields, param) => {
    for (const [upstream, model] of [
      [anthropic, "claude-sonnet-4-5"],
      [google, "gemini-2.5-flash"],
      [responses, "gpt-5"],
    ] as const) {
      await expect(chat(upstream, model, { ...HI, ...fields })).rejects.toMatchObject({
        code: "invalid_request",
        param,
      });
    }
    expect(vendor.sent).toEqual([]);
  });

  it.each([
    [{ temperature: 0.5 }, "temperature"],
    [{ top_p: 0.5 }, "top_p"],
    [{ tools: [WEATHER_TOOL], tool_choice: "required" }, "tool_choice"],
  ])("is refused with %j for a model of Anthropic's that does not take both", async (fields, param) => {
    for (const asked of [{ reasoning: { max_tokens: 2_000 } }, { thinking: { type: "enabled" } }]) {
      const sent = chat(anthropic, "claude-sonnet-4-5", { ...HI, ...asked, ...fields });
      await expect(sent).rejects.toMatchObject({ code: "invalid_request", param });
    }
  });
});
