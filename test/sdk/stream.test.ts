import { setTimeout as after } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import Ostiary, {
  APIUserAbortError,
  type ChatCompletionStream,
  InternalServerError,
  OstiaryError,
  StreamInterruptedError,
} from "../../sdk/src/index.ts";
import { loopback } from "./loopback.ts";

const encoder = new TextEncoder();
const event = (content: string, end = "\n") =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}${end}${end}`;

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

function bodyOf(pieces: Pieces): ReadableStream<Uint8Array> {
  const iterator =
    Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

const streamed = (body: BodyInit, headers: Record<string, string> = {}): Promise<ChatCompletionStream> =>
  new Ostiary({
    apiKey: "sk-test",
    fetch: async () => new Response(body, { headers }),
  }).chat.completions.create({
    model: "m",
    messages: [],
    stream: true,
  });

const from = (baseURL: string, signal?: AbortSignal) =>
  new Ostiary({ apiKey: "sk-test", baseURL, maxRetries: 0 }).chat.completions.create(
    { model: "m", messages: [], stream: true },
    { signal },
  );

async function textOf(stream: ChatCompletionStream): Promise<string> {
  let text = "";
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
  return text;
}

describe("the events of a stream", () => {
  const whole = (end: string) =>
    `\u{feff}: heartbeat${end}${end}${event("hö", end)}id: 1${end}${event("l€🦉", end)}event: x${end}retry: 5${end}data${end}data:{"choices":${end}data: []}${end}${end}data: [DONE]${end}${end}`;

  it.each(["\n", "\r\n", "\r"])("may have lines that end with %j, divided anywhere", async (end) => {
    const bytes = encoder.encode(whole(end));
    for (let cut = 0; cut <= bytes.length; cut++) {
      const stream = await streamed(bodyOf([bytes.slice(0, cut), bytes.slice(cut)]));
      expect(await textOf(stream)).toBe("höl€🦉");
    }
  });

  it("need no blank line after the last", async () => {
    expect(await textOf(await streamed(`${event("a")}data: [DONE]`))).toBe("a");
    expect(await textOf(await streamed(`${event("a")}data: [DONE]\n`))).toBe("a");
  });

  it("after the last are ignored", async () => {
    expect(await textOf(await streamed(`${event("a")}data: [DONE]\n\n${event("b")}`))).toBe("a");
  });

  it('may say "error": null', async () => {
    const data = JSON.stringify({ error: null, choices: [{ delta: { content: "a" } }] });
    expect(await textOf(await streamed(`data: ${data}\n\ndata: [DONE]\n\n`))).toBe("a");
  });

  it("may be long: the cost grows with their length, not with its square", async () => {
    const piece = encoder.encode("y".repeat(8_192));
    const pieces = function* () {
      yield encoder.encode('data: {"choices":[{"delta":{"content":"');
      for (let count = 0; count < 2_560; count++) yield piece;
      yield encoder.encode('"}}]}\n\ndata: [DONE]\n\n');
    };
    const startedAt = performance.now();
    expect(await textOf(await streamed(bodyOf(pieces())))).toHaveLength(2_560 * 8_192);
    // About 0.2 s; searched from its beginning for each piece, the line took over a minute.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it("may be many: no memory is kept for those that were read", async () => {
    let pulled = 0;
    let read = 0;
    let furthest = 0;
    const one = encoder.encode(event("x".repeat(1_000)));
    const pieces = function* () {
      for (; pulled < 20_000; pulled++) yield one;
      yield encoder.encode("data: [DONE]\n\n");
    };
    for await (const _ of await streamed(bodyOf(pieces()))) furthest = Math.max(furthest, pulled - ++read);
    expect(read).toBe(20_000);
    expect(furthest).toBeLessThan(5);
  });
});

describe("a completion stream", () => {
  it("that is cut by the network throws, with the request's ID", async () => {
    await using server = await loopback((_, response) => {
      response.writeHead(200, { "x-request-id": "req_1" });
      response.write(event("a"), () => response.destroy());
    });
    const stream = await from(server.url);
    expect(stream.requestId).toBe("req_1");
    const error = await textOf(stream).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StreamInterruptedError);
    expect(error).toMatchObject({ requestId: "req_1" });
  });

  it("with a finish reason but no end is incomplete: usage, or an error, may be missing", async () => {
    const finish = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] })}\n\n`;
    await expect(textOf(await streamed(event("a") + finish))).rejects.toBeInstanceOf(StreamInterruptedError);
  });

  it("that is another kind of answer is not an empty answer", async () => {
    await expect(textOf(await streamed(""))).rejects.toBeInstanceOf(StreamInterruptedError);
    await expect(textOf(await streamed("<h1>hi</h1>\n\n"))).rejects.toBeInstanceOf(StreamInterruptedError);
  });

  it.each(["null", "5", '"text"'])(
    "with the event %s, which is no chunk, is not the service's",
    async (data) => {
      const error = await textOf(await streamed(`data: ${data}\n\ndata: [DONE]\n\n`)).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({
        name: "APIError",
        message: expect.stringMatching(/not from the service/),
      });
    },
  );

  it("with an error of an unknown code throws InternalServerError, and ends", async () => {
    const error = { error: { message: "m", type: "t", param: null, code: "new_one" } };
    const stream = await streamed(`${event("a")}data: ${JSON.stringify(error)}\n\n${event("b")}`, {
      "x-request-id": "req_2",
    });
    const thrown = await textOf(stream).catch((caught: unknown) => caught);
    expect(thrown).toBeInstanceOf(InternalServerError);
    expect(thrown).toMatchObject({ code: "new_one", message: "m", requestId: "req_2" });
  });

  it("can be iterated over once, and throws the second time", async () => {
    const stream = await streamed(`${event("a")}data: [DONE]\n\n`);
    expect(await textOf(stream)).toBe("a");
    const error = await textOf(stream).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OstiaryError);
    expect(error).not.toBeInstanceOf(StreamInterruptedError);
  });

  it("yields nothing more once it was aborted, though more has arrived", async () => {
    const stream = await streamed(`${event("a")}${event("b")}data: [DONE]\n\n`);
    let chunks = 0;
    const read = async () => {
      for await (const _ of stream) {
        chunks++;
        stream.controller.abort();
      }
    };
    await expect(read()).rejects.toBeInstanceOf(APIUserAbortError);
    expect(chunks).toBe(1);
  });

  /** A server whose stream has begun and does not end; resolves when its client has gone. */
  const endless = async () => {
    let left = () => {};
    const gone = new Promise<void>((resolve) => {
      left = resolve;
    });
    const server = await loopback((_, response) => {
      response.on("close", left);
      response.write(event("a"));
    });
    return { server, gone };
  };

  it("ends at the service when the loop is left", async () => {
    const { server, gone } = await endless();
    await using _ = server;
    for await (const _ of await from(server.url)) break;
    await gone;
  });

  it("ends at the service by its controller, without a loop", async () => {
    const { server, gone } = await endless();
    await using _ = server;
    (await from(server.url)).controller.abort();
    await gone;
  });

  it("ends at the service by the caller's signal, while it waits for more", async () => {
    const { server, gone } = await endless();
    await using _ = server;
    const abort = new AbortController();
    const stream = await from(server.url, abort.signal);
    const read = async () => {
      for await (const _ of stream) setImmediate(() => abort.abort());
    };
    await expect(read()).rejects.toBeInstanceOf(APIUserAbortError);
    await gone;
  });

  it("that is complete frees its connection, even when its end comes after [DONE]", async () => {
    const goneEarly: boolean[] = [];
    await using server = await loopback((_, response) => {
      response.on("close", () => goneEarly.push(!response.writableFinished));
      response.write(`${event("a")}data: [DONE]\n\n`, async () => {
        await after(5);
        response.end();
      });
    });
    for (let count = 0; count < 3; count++) {
      expect(await textOf(await from(server.url))).toBe("a");
      await expect.poll(() => goneEarly.length).toBe(count + 1);
    }
    expect(goneEarly).toEqual([false, false, false]);
    expect(server.connections()).toBe(1);
  });
});
