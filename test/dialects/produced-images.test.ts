import { describe, expect, it } from "vitest";
import { TextTally } from "../../server/src/tokens/text-tally.ts";
import {
  chat,
  chunks,
  estimator,
  messages,
  replayVendor,
  respond,
  streamText,
  upstreamOf,
  whole,
} from "./dialect.ts";
import { answer, streamOf } from "./google-answers.ts";

// Models such as `gemini-2.5-flash-image` answer with images among their texts. They cost as much as the texts.
const vendor = replayVendor(/^https:/);
const google = upstreamOf("google");
const MODEL = "gemini-2.5-flash-image";
const DATA = "iVBORw0KGgo=";
const HI = { messages: [{ role: "user", content: "Draw a cat." }] };
const inlineData = { mimeType: "image/png", data: DATA };
const PARTS = [
  { text: "A sketch.", thought: true },
  { inlineData: { mimeType: "image/png", data: "c2tldGNo" }, thought: true },
  { text: "Here: " },
  { inlineData, thoughtSignature: "c2ln" },
  { inlineData: { mimeType: "audio/wav", data: "UklGRg==" } },
  { text: "Done." },
];
const image = { type: "image_url", image_url: { url: `data:image/png;base64,${DATA}` } };
const SIGNED = { google: { thought_signature: "c2ln" } };
const WITHOUT = "[The model has produced an image (image/png), which the Messages API cannot contain.";

describe("an answer with an image", () => {
  it("is a message with images for chat completions, whole and streamed", async () => {
    vendor.answers(200, answer(PARTS));
    const { choices } = await whole(chat(google, MODEL, HI));
    const images = [{ ...image, index: 0, extra_content: SIGNED }];
    expect(choices[0].message).toMatchObject({ content: "Here: Done.", images });
    vendor.streams(streamOf(...PARTS.map((part) => answer([part], {})), answer([])));
    const found = await chunks(chat(google, MODEL, { ...HI, stream: true }));
    const deltas = found.flatMap(({ choices: [choice] }) => (choice === undefined ? [] : [choice.delta]));
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe("Here: Done.");
    expect(deltas.filter((delta) => "images" in delta)).toEqual([{ images }]);
  });

  it("is an item of its own for the Responses API, whole and streamed", async () => {
    const expected = [
      { type: "message", content: [{ text: "Here: " }] },
      { type: "image_generation_call", status: "completed", output_format: "png", result: DATA },
      { type: "message", content: [{ text: "Done." }] },
    ];
    vendor.answers(200, answer(PARTS.slice(2)));
    expect((await whole(respond(google, MODEL, { input: "hi" }))).output).toMatchObject(expected);
    vendor.streams(streamOf(...PARTS.slice(2).map((part) => answer([part], {})), answer([])));
    const text = await streamText(respond(google, MODEL, { input: "hi", stream: true }));
    const events = text.split("\n\n").flatMap((event) => {
      const [, data] = /^data: (.*)$/m.exec(event) ?? [];
      return data === undefined ? [] : [JSON.parse(data)];
    });
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const ofImage = events.filter(({ output_index: index, type }) => index === 1 && !type.includes("delta"));
    expect(ofImage).toMatchObject([
      { type: "response.output_item.added", item: { status: "in_progress", result: null } },
      { type: "response.image_generation_call.in_progress" },
      { type: "response.image_generation_call.completed" },
      { type: "response.output_item.done", item: expected[1] },
    ]);
    expect(events.at(-1).response.output).toMatchObject(expected);
  });

  it("says for the Messages API that there is an image, whole and streamed", async () => {
    const asked = { ...HI, max_tokens: 100 };
    vendor.answers(200, answer(PARTS));
    const { content } = await whole(messages(google, MODEL, asked));
    expect(content).toEqual([
      { type: "text", text: "Here: " },
      { type: "text", text: expect.stringContaining(WITHOUT) },
      { type: "text", text: "Done." },
    ]);
    vendor.streams(streamOf(...PARTS.map((part) => answer([part], {})), answer([])));
    expect(await streamText(messages(google, MODEL, { ...asked, stream: true }))).toContain(WITHOUT);
  });

  it("is read of upstreams that have images as OpenRouter has them", async () => {
    const openRouter = upstreamOf("openai", { baseUrl: "https://openrouter.test/v1" });
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const message = { role: "assistant", content: "Here.", images: [{ ...image, index: 0 }] };
    vendor.answers(200, { choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    const { output } = await whole(respond(openRouter, MODEL, { input: "hi" }));
    expect(output).toMatchObject([{ type: "message" }, { type: "image_generation_call", result: DATA }]);
  });
});

describe("a request", () => {
  const said = { role: "assistant", content: "Here.", images: [image, { ...image, extra_content: SIGNED }] };
  const NEXT = { messages: [...HI.messages, said, { role: "user", content: "Now a dog." }] };
  const sentParts = () => vendor.sent.at(-1)?.body.contents[1].parts;

  it("has the images of the model's messages for Google, newer models of which want a signature", async () => {
    vendor.answers(200, answer(PARTS));
    await chat(google, MODEL, NEXT);
    expect(sentParts()).toEqual([
      { text: "Here." },
      { inlineData },
      { inlineData, thoughtSignature: "c2ln" },
    ]);
    await chat(google, "gemini-3-pro-image-preview", NEXT);
    expect(sentParts()[1]).toEqual({ inlineData, thoughtSignature: "skip_thought_signature_validator" });
    const made = { type: "image_generation_call", id: "ig_1", status: "completed", result: DATA };
    const own = { ...made, result: null };
    const asked = { input: [{ role: "user", content: "hi" }, made, own, { role: "user", content: "So?" }] };
    const { ignored } = await respond(google, MODEL, asked);
    expect([sentParts(), ignored]).toEqual([[{ inlineData }], ["input.2"]]);
    const alone = respond(google, MODEL, { input: [made] });
    await expect(alone).rejects.toMatchObject({ code: "invalid_request", param: "input" });
  });

  it("is told that images of a model were left out for other providers", async () => {
    const left = ["messages.1.images.0", "messages.1.images.1"];
    const content = [{ type: "text", text: "Fine." }];
    const usage = { input_tokens: 1, output_tokens: 1 };
    vendor.answers(200, { type: "message", role: "assistant", content, stop_reason: "end_turn", usage });
    expect((await chat(upstreamOf("anthropic"), "claude-sonnet-4-5", NEXT)).ignored).toEqual(left);
    expect(vendor.sent.at(-1)?.body.messages[1].content).toEqual([{ type: "text", text: "Here." }]);
  });

  it("is not estimated by the text that an image is encoded as", async () => {
    const input = [
      { type: "image_generation_call", result: DATA },
      { role: "user", content: "hi" },
    ];
    const { promptTokens } = await estimator.usageOf({ input }, new TextTally());
    expect(promptTokens).toBe("user".length + "hi".length);
  });

  it.each([
    ["x", "messages.1.images"],
    [[{ type: "image_url" }], "messages.1.images.0.image_url.url"],
  ])("with the images %j is refused", async (images, param) => {
    const asked = { messages: [...HI.messages, { ...said, images }] };
    await expect(chat(google, MODEL, asked)).rejects.toMatchObject({ code: "invalid_request", param });
  });

  it("asks for images as clients of OpenRouter do, and for no other provider's model", async () => {
    vendor.answers(200, answer(PARTS));
    await chat(google, MODEL, { ...HI, modalities: ["image", "text"] });
    await chat(google, MODEL, { ...HI, modalities: ["text"] });
    const asked = vendor.sent.map(({ body }) => body.generationConfig.responseModalities);
    expect(asked).toEqual([["IMAGE", "TEXT"], undefined]);
    const other = chat(upstreamOf("anthropic"), "claude-sonnet-4-5", { ...HI, modalities: ["image"] });
    await expect(other).rejects.toMatchObject({ code: "invalid_request", param: "modalities" });
  });

  it("has the form that clients of OpenRouter ask for, and no other provider's model does", async () => {
    vendor.answers(200, answer(PARTS));
    const asked = (image_config: unknown) => ({ ...HI, image_config });
    await chat(google, MODEL, asked({ aspect_ratio: "16:9", image_size: "2K" }));
    await chat(google, MODEL, asked({ aspect_ratio: "1:1" }));
    await chat(google, MODEL, asked({}));
    const sent = vendor.sent.map(({ body }) => body.generationConfig.imageConfig);
    expect(sent).toEqual([{ aspectRatio: "16:9", imageSize: "2K" }, { aspectRatio: "1:1" }, undefined]);
    const refused = [
      [google, "wide", "image_config"],
      [google, { aspect_ratio: 2 }, "image_config.aspect_ratio"],
      [google, { font_inputs: [] }, "image_config.font_inputs"],
      ...["anthropic", "openai-responses"].map(
        (dialect) => [upstreamOf(dialect), { aspect_ratio: "1:1" }, "image_config"] as const,
      ),
    ] as const;
    for (const [upstream, config, param] of refused) {
      const failed = chat(upstream, MODEL, asked(config));
      await expect(failed).rejects.toMatchObject({ code: "invalid_request", param });
    }
  });
});
