import { describe, expect, it } from "vitest";
import { readMessagesUsage } from "../../server/src/upstream/anthropic/usage.ts";
import { readResponsesUsage, readUsage, readUsageSoFar } from "../../server/src/upstream/openai/usage.ts";

const IMPLAUSIBLE = [-1, 1.5, "7", Number.NaN, 1e10, {}, true];

describe("the usage of a chat completion", () => {
  it("has the parts that OpenAI tells", () => {
    expect(
      readUsage({
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: {
          cached_tokens: 10,
          cache_write_tokens: 20,
          audio_tokens: 30,
          image_tokens: 40,
        },
        completion_tokens_details: {
          reasoning_tokens: 5,
          audio_tokens: 6,
          image_tokens: 7,
          accepted_prediction_tokens: 8,
        },
      }),
    ).toStrictEqual({
      promptTokens: 100,
      completionTokens: 50,
      cachedTokens: 10,
      cacheWriteTokens: 20,
      audioPromptTokens: 30,
      imagePromptTokens: 40,
      reasoningTokens: 5,
      audioCompletionTokens: 6,
      imageCompletionTokens: 7,
    });
  });

  it("has only totals if no parts are reported", () => {
    const totals = { promptTokens: 3, completionTokens: 0, cachedTokens: 0 };
    expect(readUsageSoFar({ prompt_tokens: 3 })).toStrictEqual(totals);
    const nulls = { prompt_tokens_details: null, completion_tokens_details: { reasoning_tokens: null } };
    expect(readUsageSoFar({ prompt_tokens: 3, completion_tokens: null, ...nulls })).toStrictEqual(totals);
    const zeros = { prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } };
    expect(readUsage({ prompt_tokens: 3, completion_tokens: 0, ...zeros })).toStrictEqual(totals);
  });

  it("of an answer is unknown if only the prompt's tokens are reported", () => {
    expect(readUsage({ prompt_tokens: 3, total_tokens: 3 })).toBeNull();
    expect(readUsage({ prompt_tokens: 3, completion_tokens: null })).toBeNull();
    expect(readResponsesUsage({ input_tokens: 3, output_tokens: null })).toBeNull();
  });

  it("has no part that exceeds its total, nor the parts of the cache or of media together", () => {
    const prompt = { cached_tokens: 6, cache_write_tokens: 9, audio_tokens: 7, image_tokens: 9 };
    const completion = { reasoning_tokens: 9, audio_tokens: 2, image_tokens: 9 };
    expect(
      readUsage({
        prompt_tokens: 8,
        completion_tokens: 3,
        prompt_tokens_details: prompt,
        completion_tokens_details: completion,
      }),
    ).toStrictEqual({
      promptTokens: 8,
      completionTokens: 3,
      cachedTokens: 6,
      cacheWriteTokens: 2,
      audioPromptTokens: 7,
      imagePromptTokens: 1,
      reasoningTokens: 3,
      audioCompletionTokens: 2,
      imageCompletionTokens: 1,
    });
  });

  it.each(["cached_tokens", "prompt_cache_hit_tokens"])("has the tokens of the cache as %s", (name) => {
    const usage = { prompt_tokens: 8, completion_tokens: 3, [name]: 6 };
    expect(readUsage(usage)?.cachedTokens).toBe(6);
    expect(readUsage({ ...usage, prompt_tokens_details: { cached_tokens: 5 } })?.cachedTokens).toBe(5);
    for (const count of IMPLAUSIBLE) expect(readUsage({ ...usage, [name]: count })).toBeNull();
  });

  it("has the reasoning that is counted apart from the answer, as far as the total has it", () => {
    const usage = { prompt_tokens: 8, completion_tokens: 3, total_tokens: 21 };
    const reasoningOf = (more: object) => {
      const { completionTokens, reasoningTokens } = readUsage({ ...usage, ...more }) ?? {};
      return [completionTokens, reasoningTokens];
    };
    expect(reasoningOf({})).toEqual([13, 10]);
    expect(reasoningOf({ completion_tokens_details: { reasoning_tokens: 10 } })).toEqual([13, 10]);
    expect(reasoningOf({ completion_tokens: 0, total_tokens: 9 })).toEqual([1, 1]);
    // What else a total has is not known.
    expect(reasoningOf({ completion_tokens_details: { reasoning_tokens: 2 } })).toEqual([5, 2]);
    for (const total_tokens of [11, 5, 0, null, ...IMPLAUSIBLE]) {
      expect(reasoningOf({ total_tokens })).toEqual([3, undefined]);
    }
    // An embedding has no answer.
    expect(readUsageSoFar({ prompt_tokens: 8, total_tokens: 21 })?.completionTokens).toBe(0);
  });

  it.each(IMPLAUSIBLE)("with a count of %s is not believed", (count) => {
    expect(readUsage({ prompt_tokens: count, completion_tokens: 1 })).toBeNull();
    expect(readUsage({ prompt_tokens: 1, completion_tokens: count })).toBeNull();
    const base = { prompt_tokens: 1, completion_tokens: 1 };
    for (const name of ["cached_tokens", "cache_write_tokens", "audio_tokens", "image_tokens"]) {
      expect(readUsage({ ...base, prompt_tokens_details: { [name]: count } })).toBeNull();
    }
    for (const name of ["reasoning_tokens", "audio_tokens", "image_tokens"]) {
      expect(readUsage({ ...base, completion_tokens_details: { [name]: count } })).toBeNull();
    }
  });

  it("is unknown without the prompt's tokens", () => {
    for (const value of [
      undefined,
      null,
      {},
      [],
      "usage",
      { completion_tokens: 1 },
      { prompt_tokens: null },
    ]) {
      expect(readUsage(value)).toBeNull();
    }
  });
});

describe("the usage of a response", () => {
  it("has the parts that OpenAI tells", () => {
    expect(
      readResponsesUsage({
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 10, cache_write_tokens: 20 },
        output_tokens: 50,
        output_tokens_details: { reasoning_tokens: 30 },
        total_tokens: 150,
      }),
    ).toStrictEqual({
      promptTokens: 100,
      completionTokens: 50,
      cachedTokens: 10,
      cacheWriteTokens: 20,
      reasoningTokens: 30,
    });
  });

  it.each(IMPLAUSIBLE)("with a count of %s is not believed", (count) => {
    expect(readResponsesUsage({ input_tokens: count, output_tokens: 1 })).toBeNull();
    expect(readResponsesUsage({ input_tokens: 1, output_tokens: count })).toBeNull();
    const base = { input_tokens: 1, output_tokens: 1 };
    expect(readResponsesUsage({ ...base, input_tokens_details: { cache_write_tokens: count } })).toBeNull();
    expect(readResponsesUsage({ ...base, output_tokens_details: { reasoning_tokens: count } })).toBeNull();
  });

  it("is unknown if none is reported", () => {
    for (const value of [undefined, null, {}, { prompt_tokens: 1 }])
      expect(readResponsesUsage(value)).toBeNull();
  });
});

describe("the usage of a message", () => {
  it("adds what was read from and written to the cache to the prompt", () => {
    expect(
      readMessagesUsage({
        input_tokens: 100,
        cache_creation_input_tokens: 30,
        cache_read_input_tokens: 5,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
        output_tokens: 7,
        service_tier: "standard",
      }),
    ).toStrictEqual({
      promptTokens: 135,
      completionTokens: 7,
      cachedTokens: 5,
      cacheWriteTokens: 20,
      cacheWrite1hTokens: 10,
    });
  });

  it("has the tokens of thoughts, which may have a price of their own", () => {
    const output_tokens_details = { thinking_tokens: 40 };
    expect(readMessagesUsage({ input_tokens: 1, output_tokens: 50, output_tokens_details })).toStrictEqual({
      promptTokens: 1,
      completionTokens: 50,
      cachedTokens: 0,
      reasoningTokens: 40,
    });
  });

  it("counts writes of an untold time as those for 5 minutes, and parts without their total", () => {
    expect(
      readMessagesUsage({ input_tokens: 1, cache_creation_input_tokens: 30, output_tokens: 0 }),
    ).toStrictEqual({ promptTokens: 31, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 30 });
    const cache_creation = { ephemeral_1h_input_tokens: 30 };
    expect(readMessagesUsage({ input_tokens: 1, cache_creation, output_tokens: 0 })).toStrictEqual({
      promptTokens: 31,
      completionTokens: 0,
      cachedTokens: 0,
      cacheWrite1hTokens: 30,
    });
  });

  it("has only totals without a cache", () => {
    const nulls = { cache_creation_input_tokens: null, cache_read_input_tokens: null, cache_creation: null };
    expect(readMessagesUsage({ input_tokens: 4, output_tokens: 2, ...nulls })).toStrictEqual({
      promptTokens: 4,
      completionTokens: 2,
      cachedTokens: 0,
    });
  });

  it.each(IMPLAUSIBLE)("with a count of %s is not believed", (count) => {
    const base = { input_tokens: 1, output_tokens: 1 };
    for (const name of [
      "input_tokens",
      "output_tokens",
      "cache_creation_input_tokens",
      "cache_read_input_tokens",
    ]) {
      expect(readMessagesUsage({ ...base, [name]: count })).toBeNull();
    }
    for (const name of ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"]) {
      expect(readMessagesUsage({ ...base, cache_creation: { [name]: count } })).toBeNull();
    }
    const output_tokens_details = { thinking_tokens: count };
    expect(readMessagesUsage({ ...base, output_tokens_details })).toBeNull();
  });

  it("is unknown if no input is reported", () => {
    for (const value of [undefined, null, {}, { output_tokens: 1 }])
      expect(readMessagesUsage(value)).toBeNull();
  });
});
