import { describe, expect, it } from "vitest";
import { chat, chunks, replayVendor, respond, streamText, upstreamOf, whole } from "./dialect.ts";
import { answer as googleAnswer, streamOf } from "./google-answers.ts";

// The probabilities of the tokens of an answer, which all formats but Anthropic's have.
const vendor = replayVendor(/.*/);
const baseUrl = "https://models.example/v1";
const google = upstreamOf("google");
const anthropic = upstreamOf("anthropic");
const responses = upstreamOf("openai-responses", { baseUrl });
const completions = upstreamOf("openai", { baseUrl });
const HI = { messages: [{ role: "user", content: "Hi" }] };
const usage = { input_tokens: 1, output_tokens: 1 };

const logprob = (token: string, value: number, bytes = [...new TextEncoder().encode(token)]) => ({
  token,
  logprob: value,
  bytes,
});
const token = (text: string, value: number, bytes?: number[]) => ({
  ...logprob(text, value, bytes),
  top_logprobs: [logprob(text, value, bytes), logprob("No", -3)],
});
const YES = token("Yes", -0.25);
const STOP = token(".", 0);

/** An answer of Google, whose probabilities are in two lists. Members of 0 are left out. */
const ofGoogle = (...tokens: (typeof YES)[]) => {
  const written = ({ token: text, logprob: value }: ReturnType<typeof logprob>) => ({
    token: text,
    tokenId: 7,
    ...(value === 0 ? {} : { logProbability: value }),
  });
  const answer = googleAnswer([{ text: tokens.map((one) => one.token).join("") }]);
  const logprobsResult = {
    chosenCandidates: tokens.map(written),
    topCandidates: tokens.map(({ top_logprobs: top }) => ({ candidates: top.map(written) })),
  };
  return { ...answer, candidates: answer.candidates.map((one) => ({ ...one, logprobsResult })) };
};

const part = (...logprobs: (typeof YES)[]) => ({
  type: "output_text",
  text: "Yes.",
  annotations: [],
  logprobs,
});
const ofResponses = (...logprobs: (typeof YES)[]) => ({
  status: "completed",
  output: [{ type: "message", id: "msg_1", role: "assistant", content: [part(...logprobs)] }],
  usage,
});
const events = (...list: object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const ofChat = (member: "message" | "delta", content: string, ...logprobs: (typeof YES)[]) => ({
  choices: [
    {
      index: 0,
      [member]: { content },
      logprobs: { content: logprobs, refusal: null },
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
});

describe("a chat completion with the probabilities of its tokens", () => {
  const asked = { ...HI, logprobs: true, top_logprobs: 2 };
  const inChoice = { content: [YES, STOP], refusal: null };
  const streamed = (found: Awaited<ReturnType<typeof chunks>>) =>
    found.flatMap(({ choices: [choice] }) => (choice?.logprobs == null ? [] : [choice.logprobs.content]));

  it("gets them from a model of Google, whole and streamed", async () => {
    vendor.answers(200, ofGoogle(YES, STOP));
    const { choices } = await whole(chat(google, "gemini-2.5-flash", asked));
    expect(choices[0]).toMatchObject({ message: { content: "Yes." }, logprobs: inChoice });
    expect(vendor.sent[0]?.body.generationConfig).toMatchObject({ responseLogprobs: true, logprobs: 2 });
    vendor.streams(streamOf(ofGoogle(YES), ofGoogle(STOP)));
    const found = await chunks(chat(google, "gemini-2.5-flash", { ...asked, stream: true }));
    expect(streamed(found)).toEqual([[YES], [STOP]]);
  });

  it("gets them from a model of the Responses API, whole and streamed", async () => {
    vendor.answers(200, ofResponses(YES, STOP));
    const { choices } = await whole(chat(responses, "gpt-5", asked));
    expect(choices[0]).toMatchObject({ message: { content: "Yes." }, logprobs: inChoice });
    const include = ["reasoning.encrypted_content", "message.output_text.logprobs"];
    expect(vendor.sent[0]?.body).toMatchObject({ include, top_logprobs: 2 });
    const at = { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0 };
    const pieces = [YES, STOP].map((one) => ({ ...at, delta: one.token, logprobs: [one] }));
    vendor.streams(events(...pieces, { type: "response.completed", response: ofResponses() }));
    expect(streamed(await chunks(chat(responses, "gpt-5", { ...asked, stream: true })))).toEqual([
      [YES],
      [STOP],
    ]);
  });

  it("may have those of its own tokens only, and has none if none are asked for", async () => {
    vendor.answers(200, ofGoogle());
    const own = await whole(chat(google, "gemini-2.5-flash", { ...HI, logprobs: true }));
    await chat(google, "gemini-2.5-flash", { ...HI, logprobs: false, top_logprobs: 0 });
    expect(own.choices[0].logprobs).toBeNull();
    const [first, second] = vendor.sent.map(({ body }) => body.generationConfig);
    expect(first).toEqual({ responseLogprobs: true });
    expect(second).toEqual({});
  });

  it("is refused for a model without them", async () => {
    await expect(chat(anthropic, "claude-opus-4-5", asked)).rejects.toMatchObject({ param: "logprobs" });
    expect(vendor.sent).toEqual([]);
  });
});

describe("a response with the probabilities of its tokens", () => {
  const asked = { input: "Hi", include: ["message.output_text.logprobs"], top_logprobs: 2 };
  const inMessage = [{ type: "message", content: [part(YES, STOP)] }];

  it("gets them from a model of chat completions, whole and streamed, whatever their digits", async () => {
    const text = JSON.stringify(ofChat("message", "Yes.", YES, STOP)).replaceAll(
      "-0.25",
      "-0.250000000000000000001",
    );
    vendor.answersBy(() => new Response(text));
    expect((await whole(respond(completions, "m", asked))).output).toMatchObject(inMessage);
    expect(vendor.sent[0]?.body).toMatchObject({ logprobs: true, top_logprobs: 2 });
    vendor.streams(events(ofChat("delta", "Yes", YES), ofChat("delta", ".", STOP)), "data: [DONE]\n\n");
    const found = await streamText(respond(completions, "m", { ...asked, stream: true }));
    const list = found.split("\n\n").flatMap((event) => {
      const [, data] = /^data: (.*)$/m.exec(event) ?? [];
      return data === undefined ? [] : [JSON.parse(data)];
    });
    const of = (type: string) => list.filter((event) => event.type === type);
    expect(of("response.output_text.delta").map(({ logprobs }) => logprobs)).toEqual([[YES], [STOP]]);
    expect(of("response.output_text.done")).toMatchObject([{ logprobs: [YES, STOP] }]);
    expect(of("response.content_part.added")).toMatchObject([{ part: { logprobs: [] } }]);
    expect(of("response.completed")).toMatchObject([{ response: { output: inMessage } }]);
  });

  it("gets the bytes of those that are parts of characters, or do not tell theirs, and none that are malformed", async () => {
    const part = token("\\xe2\\x82", -1, [226, 130]);
    const bare = { token: "é", logprob: -2, bytes: null };
    const odd = [part, bare, null, { token: 7, logprob: -1 }, { token: "x", logprob: "-1" }];
    const completion = ofChat("message", "Yes.");
    const logprobs = { content: odd };
    vendor.answers(200, {
      ...completion,
      choices: completion.choices.map((choice) => ({ ...choice, logprobs })),
    });
    const { output } = await whole(respond(completions, "m", asked));
    expect(output[0].content[0].logprobs).toEqual([part, { ...logprob("é", -2), top_logprobs: [] }]);
  });

  it.each([
    [{ top_logprobs: 2 }, "top_logprobs"],
    [{ include: ["message.output_text.logprobs"] }, "include"],
  ])("has none from a model without them, and the client is told so: %j", async (fields, name) => {
    vendor.answers(200, { content: [{ type: "text", text: "Yes." }], stop_reason: "end_turn", usage });
    expect((await respond(anthropic, "claude-opus-4-5", { input: "Hi", ...fields })).ignored).toEqual([name]);
  });
});
