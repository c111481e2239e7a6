import { describe, expect, it } from "vitest";
import { type Answer, extended, NO_ANSWER } from "../../dashboard-ui/src/pages/playground/answer.ts";
import { eventsOf } from "../../dashboard-ui/src/pages/playground/sse.ts";

describe("an answer", () => {
  /** What chunks with these deltas add up to. */
  function told(...deltas: readonly object[]): Answer {
    return deltas.reduce<Answer>((answer, delta) => extended(answer, { choices: [{ delta }] }), NO_ANSWER);
  }

  it("has its tool calls put together from their pieces, in their places", () => {
    const piece = (index: number, called: object) => ({ tool_calls: [{ index, function: called }] });
    const { calls } = told(
      piece(0, { name: "open", arguments: '{"do' }),
      piece(1, { name: "close", arguments: "" }),
      piece(0, { arguments: 'or":1}' }),
      piece(1, { arguments: "{}" }),
    );
    expect(calls).toEqual([
      { name: "open", arguments: '{"door":1}' },
      { name: "close", arguments: "{}" },
    ]);
    expect(told(piece(4_000_000_000, { name: "far", arguments: "{}" })).calls).toHaveLength(1);
  });

  it("has its reasoning apart from its text, by either name that servers have for it", () => {
    expect(told({ reasoning_content: "Hm. " }, { reasoning: "So." }, { content: "Yes" })).toMatchObject({
      reasoning: "Hm. So.",
      text: "Yes",
    });
  });

  it("is read from a whole completion as from chunks, and passes over what nobody knows", () => {
    const completion = {
      choices: [{ message: { content: [{ type: "text", text: "Yes" }] }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
      vendor_extra: 1,
    };
    expect(extended(NO_ANSWER, completion)).toEqual({
      text: "Yes",
      reasoning: "",
      calls: [],
      finishReason: "stop",
      usage: { promptTokens: 3, completionTokens: 1 },
    });
    for (const odd of [
      null,
      1,
      [],
      {},
      { choices: null },
      { choices: [null] },
      { choices: [{ delta: 7 }] },
    ]) {
      expect(extended(NO_ANSWER, odd)).toEqual(NO_ANSWER);
    }
  });
});

describe("server-sent events", () => {
  async function dataIn(text: string, size: number): Promise<string[]> {
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const found: string[] = [];
    for await (const data of eventsOf(body)) found.push(data);
    return found;
  }

  const STREAM =
    ': waiting\n\ndata: {"a":"ü🚪"}\n\nevent: x\nid: 1\ndata:two\ndata: lines\n\n: waiting\n\ndata\n\ndata: last\n\n';
  const DATA = ['{"a":"ü🚪"}', "two\nlines", "", "last"];

  it.each([1, 2, 3, 7, 1_000])(
    "are read alike in chunks of %s bytes, whatever ends their lines",
    async (size) => {
      expect(await dataIn(STREAM, size)).toEqual(DATA);
      expect(await dataIn(STREAM.replaceAll("\n", "\r\n"), size)).toEqual(DATA);
      expect(await dataIn(STREAM.replaceAll("\n", "\r"), size)).toEqual(DATA);
      expect(await dataIn(`\uFEFF${STREAM}`, size)).toEqual(DATA);
    },
  );

  it("count only when they are ended", async () => {
    expect(await dataIn("data: whole\n\ndata: torn", 5)).toEqual(["whole"]);
  });

  it("are not read on for nobody", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("data: again\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const data of eventsOf(body)) {
      expect(data).toBe("again");
      break;
    }
    expect(cancelled).toBe(true);
  });
});
