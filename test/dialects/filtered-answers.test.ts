import { describe, expect, it } from "vitest";
import { eventsOf } from "../wires/response-stream.ts";
import {
  chat,
  chunks,
  messageOf,
  messages,
  replayVendor,
  respond,
  streamText,
  upstreamOf,
  whole,
} from "./dialect.ts";

// What providers say about an answer that their filters have ended.
const vendor = replayVendor(/.*/);
const anthropic = { upstream: upstreamOf("anthropic"), model: "claude-sonnet-4-5" };
const google = { upstream: upstreamOf("google"), model: "gemini-2.5-flash" };
const HI = { messages: [{ role: "user", content: "Hi" }] };
const MESSAGE = { ...HI, max_tokens: 9 };
const WHY = "This request was blocked.";

const usage = { input_tokens: 3, output_tokens: 1 };
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 1 };
const details = { type: "refusal", category: "cyber", explanation: WHY };
const MESSAGE_START = { type: "message_start", message: { usage } };
const block = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Well" } },
  { type: "content_block_stop", index: 0 },
];
const ended = (stop_details: object | null) => [
  { type: "message_delta", delta: { stop_reason: "refusal", stop_sequence: null, stop_details }, usage },
  { type: "message_stop" },
];
const refused = (content: object[], stop_details: object | null) => ({
  content,
  stop_reason: "refusal",
  stop_details,
  usage,
});
const events = (list: object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const candidate = (more: object) => ({ candidates: [{ ...more }], usageMetadata });

/** Reasons of Google's for an answer without anything. */
const WITHOUT_ANSWER = ["OTHER", "NO_IMAGE", "IMAGE_OTHER", "FINISH_REASON_UNSPECIFIED", "SOMETHING_NEW"];

const WHOLE = [
  ["Anthropic", anthropic, refused([], details)],
  ["Google", google, candidate({ finishReason: "SAFETY", finishMessage: WHY })],
  [
    "Google, of a prompt",
    google,
    { promptFeedback: { blockReason: "OTHER", blockReasonMessage: WHY }, usageMetadata },
  ],
  ...WITHOUT_ANSWER.map(
    (finishReason) =>
      [`Google, ${finishReason}`, google, candidate({ finishReason, finishMessage: WHY })] as const,
  ),
] as const;

describe("what a provider says about a filtered answer", () => {
  it.each(WHOLE)(
    "is the refusal of a chat completion and of a response: %s",
    async (_, { upstream, model }, body) => {
      vendor.answers(200, body);
      const { choices } = await whole(chat(upstream, model, HI));
      expect(choices).toMatchObject([
        { message: { content: null, refusal: WHY }, finish_reason: "content_filter" },
      ]);
      expect(await whole(respond(upstream, model, { input: "Hi" }))).toMatchObject({
        status: "incomplete",
        incomplete_details: { reason: "content_filter" },
        output: [{ type: "message", status: "incomplete", content: [{ type: "refusal", refusal: WHY }] }],
      });
    },
  );

  it("is told if Google says why a text ends", async () => {
    const content = { parts: [{ text: "Well" }] };
    vendor.answers(200, candidate({ content, finishReason: "OTHER", finishMessage: WHY }));
    const [choice] = (await whole(chat(google.upstream, google.model, HI))).choices;
    expect(choice).toMatchObject({
      message: { content: "Well", refusal: WHY },
      finish_reason: "content_filter",
    });
  });

  it.each([
    [{ finishReason: "NO_IMAGE" }, { text: "Well" }, "stop"],
    [
      { finishReason: "OTHER", finishMessage: WHY },
      { functionCall: { name: "weather", args: {} } },
      "tool_calls",
    ],
  ])("is nothing where the answer can be used: %j after %j", async (end, part, finish) => {
    vendor.answers(200, candidate({ content: { parts: [part] }, ...end }));
    const [choice] = (await whole(chat(google.upstream, google.model, HI))).choices;
    expect(choice).toMatchObject({ message: { refusal: null }, finish_reason: finish });
  });

  it("comes at the end of a stream", async () => {
    vendor.streams(events([MESSAGE_START, ...block, ...ended(details)]));
    const { upstream, model } = anthropic;
    const found = await chunks(chat(upstream, model, { ...HI, stream: true }));
    expect(messageOf(found)).toMatchObject({ content: "Well" });
    const deltas = found.flatMap(({ choices }) => choices.map((one: { delta: object }) => one.delta));
    expect(deltas).toContainEqual({ refusal: WHY });
    vendor.streams(events([MESSAGE_START, ...block, ...ended(details)]));
    const sent = eventsOf(await streamText(respond(upstream, model, { input: "Hi", stream: true })));
    expect(sent.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: {
        output: [
          {
            content: [
              { type: "output_text", text: "Well" },
              { type: "refusal", refusal: WHY },
            ],
          },
        ],
      },
    });
  });

  it("is in the details of a message, whole and streamed", async () => {
    const explained = { type: "refusal", category: null, explanation: WHY };
    vendor.answers(200, candidate({ finishReason: "SAFETY", finishMessage: WHY }));
    const { upstream, model } = google;
    expect(await whole(messages(upstream, model, MESSAGE))).toMatchObject({
      content: [],
      stop_reason: "refusal",
      stop_details: explained,
    });
    vendor.streams(events([candidate({ finishReason: "SAFETY", finishMessage: WHY })]));
    const sent = eventsOf(await streamText(messages(upstream, model, { ...MESSAGE, stream: true })));
    expect(sent.find(({ type }) => type === "message_delta")?.delta).toEqual({
      stop_reason: "refusal",
      stop_sequence: null,
      stop_details: explained,
      container: null,
    });
  });

  it("keeps its category where a message is the answer to a request for a stream", async () => {
    vendor.answers(200, refused([{ type: "text", text: "Well" }], details));
    const { upstream, model } = anthropic;
    const sent = eventsOf(await streamText(messages(upstream, model, { ...MESSAGE, stream: true })));
    expect(sent.find(({ type }) => type === "message_delta")?.delta).toMatchObject({ stop_details: details });
  });

  it("is nothing where it says nothing, or the answer is complete", async () => {
    vendor.answersOnce(200, refused([], null));
    const { upstream, model } = anthropic;
    const [unexplained] = (await whole(chat(upstream, model, HI))).choices;
    expect(unexplained).toMatchObject({ message: { content: "", refusal: null } });
    const content = { parts: [{ text: "Well" }] };
    vendor.answersOnce(200, candidate({ content, finishReason: "STOP", finishMessage: "Done." }));
    const [complete] = (await whole(chat(google.upstream, google.model, HI))).choices;
    expect(complete).toMatchObject({ message: { content: "Well", refusal: null }, finish_reason: "stop" });
  });
});
