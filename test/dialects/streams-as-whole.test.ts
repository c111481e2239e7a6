import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageIn } from "../wires/messages-events.ts";
import { eventsOf, expectResponseStream } from "../wires/response-stream.ts";
import * as client from "./dialect.ts";
import { answer, completionOf, contentOf, messageOf, responseOf } from "./random-answer.ts";

// What a client has of a streamed answer is what it has of the same answer whole, however the upstream's stream is cut.
const vendor = client.replayVendor(/https:\/\/models\.example\/v1\//);
const baseUrl = "https://models.example/v1";
const HI = { messages: [{ role: "user", content: "hi" }] };

/** How an upstream's stream is written and cut. */
const cutting = fc.record({
  lineEnd: fc.constantFrom("\n", "\r\n", "\r"),
  start: fc.constantFrom("", "\u{feff}", ": comment\n\n"),
  pieceBytes: fc.constantFrom(1, 7, 50, 1_000, 100_000),
});
type Cutting = typeof cutting extends fc.Arbitrary<infer Value> ? Value : never;

function eventStream(events: readonly string[], { lineEnd, start, pieceBytes }: Cutting): Response {
  const text = events.map((data) => `data: ${data}${lineEnd}${lineEnd}`).join("");
  const bytes = new TextEncoder().encode(start.replaceAll("\n", lineEnd) + text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const upstreamOf = (dialect: string) => client.upstreamOf(dialect, { baseUrl });
const chat = (dialect: string, stream: boolean) =>
  client.chat(upstreamOf(dialect), "claude-sonnet-5", { ...HI, stream });
const respond = (dialect: string, stream: boolean) =>
  client.respond(upstreamOf(dialect), "claude-sonnet-5", { input: "hi", stream });
const messages = (dialect: string, stream: boolean) => {
  const asked = { ...HI, max_tokens: 9, thinking: { type: "adaptive" }, stream };
  return client.messages(upstreamOf(dialect), "claude-sonnet-5", asked);
};

/** Items or blocks, but for ids of the service and signatures, which are new each time. */
// biome-ignore lint/suspicious/noExplicitAny: answers in the formats of clients
const known = (list: readonly any[]) =>
  list.map(({ id, signature: _, ...others }) => (others.type === "tool_use" ? { id, ...others } : others));

/** What a client of each format knows of a whole answer, and of a streamed one. */
const CLIENTS = {
  chat: [
    async (dialect: string) => {
      const { choices, usage } = await client.whole(chat(dialect, false));
      const [{ message, finish_reason: finish }] = choices;
      const { content, reasoning_content: reasoning = "", tool_calls: list = [] } = message;
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const calls = list.map(({ id, function: called }: any) => ({ id, ...called }));
      return { content: content ?? "", reasoning, calls, finish, usage };
    },
    async (dialect: string) => client.messageOf(await client.chunks(chat(dialect, true))),
  ],
  responses: [
    async (dialect: string) => {
      const { output, status, usage } = await client.whole(respond(dialect, false));
      return { output: known(output), status, usage };
    },
    async (dialect: string) => {
      const events = eventsOf(await client.streamText(respond(dialect, true)));
      const { output, status, usage } = expectResponseStream(events);
      return { output: known(output), status, usage };
    },
  ],
  messages: [
    async (dialect: string) => {
      const { content, stop_reason, usage } = await client.whole(messages(dialect, false));
      return { content: known(content), stop_reason, usage };
    },
    async (dialect: string) => {
      const { content, stop_reason, usage } = messageIn(await client.streamText(messages(dialect, true)));
      return { content: known(content), stop_reason, usage };
    },
  ],
} as const;

describe.each([
  ["openai", ["responses", "messages"], completionOf],
  ["openai-responses", ["chat", "messages"], responseOf],
  ["anthropic", ["chat", "responses"], messageOf],
  ["google", ["chat", "responses", "messages"], contentOf],
] as const)("a stream of an upstream of %s", (dialect, wires, write) => {
  it.each(wires)("tells a client of %s what the whole answer tells", async (wire) => {
    const [ofWhole, ofStream] = CLIENTS[wire];
    let respondNext = (): Response => Response.error();
    vendor.answersBy(() => respondNext());
    await fc.assert(
      fc.asyncProperty(answer, cutting, async (answered, cut) => {
        const { whole, events } = write(answered);
        respondNext = () => new Response(whole, { headers: { "content-type": "application/json" } });
        const expected = await ofWhole(dialect);
        respondNext = () => eventStream(events, cut);
        expect(await ofStream(dialect)).toEqual(expected);
        // Some servers answer a request for a stream with the whole answer.
        respondNext = () => new Response(whole, { headers: { "content-type": "application/json" } });
        expect(await ofStream(dialect)).toEqual(expected);
      }),
      { seed: 1, numRuns: 40 },
    );
  });
});
