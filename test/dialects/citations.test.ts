import { describe, expect, it } from "vitest";
import { eventsOf } from "../wires/response-stream.ts";
import { chat, chunks, messages, replayVendor, respond, streamText, upstreamOf, whole } from "./dialect.ts";

// The pages on the web that an answer refers to, as models that search have them.
const vendor = replayVendor(/.*/);
const baseUrl = "https://models.example/v1";
const responses = upstreamOf("openai-responses", { baseUrl });
const completions = upstreamOf("openai", { baseUrl });
const HI = { messages: [{ role: "user", content: "Hi" }] };
const usage = { input_tokens: 1, output_tokens: 1 };

const cited = { url: "https://example.com/rome", title: "Rome", start_index: 0, end_index: 5 };
const FLAT = { type: "url_citation", ...cited };
const NESTED = { type: "url_citation", url_citation: cited };
/** What has no page, or is of another kind. */
const OTHERS = [null, { type: "file_citation", file_id: "f" }, { type: "url_citation", url: 5 }];
const events = (...list: object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

const choice = (member: "message" | "delta", content: object, finish: string | null = "stop") => ({
  choices: [{ index: 0, [member]: content, finish_reason: finish }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
});
const part = { type: "output_text", text: "Rome.", annotations: [FLAT, ...OTHERS] };
const message = { type: "message", id: "msg_1", role: "assistant", content: [part] };
const STREAM = events(
  { type: "response.created", response: {} },
  { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
  { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: "Rome." },
  { type: "response.output_text.annotation.added", output_index: 0, item_id: "msg_1", annotation: FLAT },
  { type: "response.output_item.done", output_index: 0, item: message },
  { type: "response.completed", response: { status: "completed", output: [message], usage } },
);

describe("the pages that an answer refers to", () => {
  it("are annotations of a chat completion, whole and streamed", async () => {
    vendor.answers(200, { status: "completed", output: [message], usage });
    const [{ message: said }] = (await whole(chat(responses, "m", HI))).choices;
    expect(said).toMatchObject({ content: "Rome.", annotations: [NESTED] });
    vendor.streams(STREAM);
    const found = await chunks(chat(responses, "m", { ...HI, stream: true }));
    const deltas = found.flatMap(({ choices }) => choices.map((one: { delta: object }) => one.delta));
    expect(deltas.flatMap(({ annotations = [] }) => annotations)).toEqual([NESTED]);
  });

  it("are annotations of a response, whole and streamed", async () => {
    const annotations = [NESTED, FLAT, { ...NESTED, url_citation: { url: cited.url } }, ...OTHERS];
    const expected = [FLAT, FLAT, { ...FLAT, title: "", start_index: 0, end_index: 0 }];
    vendor.answers(200, choice("message", { content: "Rome.", annotations }));
    const [item] = (await whole(respond(completions, "m", { input: "hi" }))).output;
    expect(item.content).toMatchObject([{ text: "Rome.", annotations: expected }]);
    vendor.streams(
      events(choice("delta", { content: "Rome." }, null), choice("delta", { annotations }, "stop")),
    );
    const sent = eventsOf(await streamText(respond(completions, "m", { input: "hi", stream: true })));
    const added = sent.filter(({ type }) => type === "response.output_text.annotation.added");
    expect(added.map(({ annotation, annotation_index: index }) => [index, annotation])).toEqual([
      ...expected.entries(),
    ]);
    const done = sent.find(({ type }) => type === "response.content_part.done");
    expect(done?.part).toMatchObject({ annotations: expected });
  });

  it("have no place in a message, which is answered all the same", async () => {
    vendor.answers(200, choice("message", { content: "Rome.", annotations: [NESTED] }));
    const { content } = await whole(messages(completions, "m", { ...HI, max_tokens: 9 }));
    expect(content).toEqual([{ type: "text", text: "Rome." }]);
  });
});

describe("the pages beside an answer, as Perplexity and xAI have them", () => {
  const rome = { title: "Rome", url: "https://example.com/rome", date: null, snippet: "…" };
  const milan = { title: "Milan", url: "https://example.com/milan" };
  const said = "Rome[1] and 𝄞 Milan[2][1], x[7].";
  const place = ({ title, url }: { title: string; url: string }, start: number, end: number) => ({
    type: "url_citation",
    url,
    title,
    start_index: start,
    end_index: end,
  });
  const EXPECTED = [place(rome, 4, 7), place(milan, 20, 23), place(rome, 23, 26)];

  async function streamed(...chunks: object[]) {
    vendor.streams(events(...chunks));
    const sent = eventsOf(await streamText(respond(completions, "m", { input: "hi", stream: true })));
    const done = sent.find(({ type }) => type === "response.content_part.done");
    const added = sent.filter(({ type }) => type === "response.output_text.annotation.added");
    expect(added.map(({ annotation }) => annotation)).toEqual(done?.part.annotations);
    return done?.part;
  }

  it("are annotations of a response, at the places that name their numbers", async () => {
    vendor.answers(200, { ...choice("message", { content: said }), search_results: [rome, milan] });
    const [item] = (await whole(respond(completions, "m", { input: "hi" }))).output;
    expect(item.content).toMatchObject([{ text: said, annotations: EXPECTED }]);
  });

  it("are annotations of a streamed response, also where a number comes in two pieces", async () => {
    for (const pieces of [
      [said],
      [...said].map((one) => one),
      ["Rome[", "1] and 𝄞 Milan[2", "][1], x[7]", "."],
    ]) {
      const deltas = pieces.map((content) => choice("delta", { content }, null));
      const last = { ...choice("delta", {}), search_results: [rome, milan] };
      expect(await streamed(...deltas, last)).toMatchObject({ text: said, annotations: EXPECTED });
    }
  });

  it("have no titles in the older form, no place if the text names none, and count once", async () => {
    const citations = [rome.url, 5, milan.url];
    const first = { ...choice("delta", { content: "Rome." }, null), citations };
    const bare = [place({ ...rome, title: "" }, 0, 0), place({ ...milan, title: "" }, 0, 0)];
    expect((await streamed(first, { ...choice("delta", {}), citations })).annotations).toEqual(bare);
    const annotated = choice("delta", { annotations: [NESTED] });
    expect((await streamed(first, { ...annotated, citations })).annotations).toEqual([FLAT]);
  });

  it("keep their numbers beside pages that are not readable", async () => {
    const unreadable = { url: `https://example.com/${"x".repeat(10_000)}` };
    const last = { ...choice("delta", {}), search_results: [unreadable, null, milan] };
    const { annotations } = await streamed(choice("delta", { content: "See [1][2][3]." }, null), last);
    expect(annotations).toEqual([place(milan, 10, 13)]);
  });

  it("are limited, and do not fail an answer with many references", async () => {
    const last = { ...choice("delta", {}), search_results: [rome] };
    const { annotations } = await streamed(choice("delta", { content: "[1]".repeat(20_000) }, null), last);
    expect(annotations).toHaveLength(1_000);
  });
});
