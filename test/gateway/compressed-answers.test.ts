import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import {
  type Answer,
  chatStream,
  frames,
  HI,
  NATIVE_END,
  NATIVE_MESSAGE,
  NATIVE_START,
  NATIVE_TEXT,
  startMessagesService,
} from "../wires/messages-service.ts";

const CODINGS = [
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
] as const;

const service = sharedByFile(startMessagesService);

const ask = (model: string, more: object = {}) => service.post({ ...HI, model, ...more });

/** Answers with bytes in a content coding. */
function compressed(coding: string, type: string, bytes: Uint8Array, status = 200): Answer {
  return ({ response }) =>
    void response.writeHead(status, { "content-type": type, "content-encoding": coding }).end(bytes);
}

describe("an upstream", () => {
  it("is asked not to compress: without this header any compression would do", async () => {
    service.answers.chat = chatStream([{ content: "Hello" }, "stop"]);
    await (await ask("acme/chat")).text();
    expect(service.chat.received.at(-1)?.headers["accept-encoding"]).toBe("identity");
  });
});

describe("an answer that is compressed nevertheless", () => {
  it.each(CODINGS)("is read, whole, in %s", async (coding, compress) => {
    service.answers.native = compressed(coding, "application/json", compress(JSON.stringify(NATIVE_MESSAGE)));
    const answer = await ask("acme/native");
    expect(answer.status).toBe(200);
    expect((await answer.json()).content).toEqual(NATIVE_MESSAGE.content);
  });

  it.each(CODINGS)("is read, as a stream, in %s", async (coding, compress) => {
    const events = frames(NATIVE_START, ...NATIVE_TEXT, ...NATIVE_END);
    service.answers.native = compressed(coding, "text/event-stream", compress(events));
    const text = await (await ask("acme/native", { stream: true })).text();
    expect(text).toContain('"text":"Hello"');
    expect(text).toContain("event: message_stop");
  });

  it.each(CODINGS)(
    "is read if only its transfer is in %s, in one header or two",
    async (coding, compress) => {
      for (const transfer of [`${coding}, chunked`, [coding.toUpperCase(), "chunked"]]) {
        service.answers.native = ({ response }) => {
          response.setHeader("content-type", "application/json").setHeader("transfer-encoding", transfer);
          response.end(compress(JSON.stringify(NATIVE_MESSAGE)));
        };
        const answer = await ask("acme/native");
        expect(answer.status).toBe(200);
        expect((await answer.json()).content).toEqual(NATIVE_MESSAGE.content);
      }
    },
  );

  it("tells the client what is wrong with the request", async () => {
    const error = { type: "error", error: { type: "invalid_request_error", message: "no such thing" } };
    service.answers.native = compressed("gzip", "application/json", gzipSync(JSON.stringify(error)), 400);
    const answer = await ask("acme/native");
    expect(answer.status).toBe(400);
    expect((await answer.json()).error.message).toBe("no such thing");
  });

  it("is a failure if it is cut off, is not in the coding that it names, or is in an unknown coding", async () => {
    const whole = gzipSync(JSON.stringify(NATIVE_MESSAGE));
    for (const [coding, bytes] of [
      ["gzip", whole.subarray(0, whole.length - 12)],
      ["gzip", Buffer.from(JSON.stringify(NATIVE_MESSAGE))],
      ["br", whole],
      ["zstd", whole],
      ["gzip, gzip", gzipSync(whole)],
    ] as const) {
      service.answers.native = compressed(coding, "application/json", bytes);
      const answer = await ask("acme/native");
      expect([coding, answer.status]).toEqual([coding, 502]);
      expect((await answer.json()).error.type).toBe("api_error");
    }
  });

  it("is no way to use memory: it is read up to the same size as any other", async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, " "));
    expect(bomb.length).toBeLessThan(200_000);
    service.answers.native = compressed("gzip", "application/json", bomb);
    expect((await ask("acme/native")).status).toBe(502);
  });

  it("is no way to use the processor: comments of a stream, too, are read up to a hundred times what is received", async () => {
    const events = frames(NATIVE_START, ...NATIVE_TEXT, ...NATIVE_END);
    const bomb = gzipSync(`: a comment\n\n`.repeat(1024 * 1024) + events);
    expect(bomb.length).toBeLessThan(100_000);
    service.answers.native = compressed("gzip", "text/event-stream", bomb);
    expect((await ask("acme/native", { stream: true })).status).toBe(502);
  });

  it("that fails in its middle ends the stream with an error", async () => {
    const events = frames(NATIVE_START, ...NATIVE_TEXT);
    const bytes = gzipSync(events);
    service.answers.native = compressed("gzip", "text/event-stream", bytes.subarray(0, bytes.length - 8));
    const text = await (await ask("acme/native", { stream: true })).text();
    expect(text).toContain("event: error");
    expect(text).not.toContain("message_stop");
  });
});
