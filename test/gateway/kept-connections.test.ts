import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { chunkOf } from "../fixtures/model-server.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import {
  type Answer,
  frames,
  HI,
  NATIVE_END,
  NATIVE_START,
  NATIVE_TEXT,
  startMessagesService,
} from "../wires/messages-service.ts";

const CHAT = `${chunkOf({ role: "assistant", content: "Hello" })}${chunkOf({}, "stop")}data: [DONE]\n\n`;
const NATIVE = frames(NATIVE_START, ...NATIVE_TEXT, ...NATIVE_END);

const service = sharedByFile(startMessagesService);
/** The ports that the upstreams' requests came from. */
let ports: (number | undefined)[] = [];
/** When the last answer was sent whole. */
let ended: Promise<unknown> = Promise.resolve();

/** Sends the events of an answer; what `end` does comes later than they, as most servers send it. */
function answering(events: string | Uint8Array, end: Answer, headers: Record<string, string> = {}): Answer {
  return (request) => {
    const { response } = request;
    ports.push(response.socket?.remotePort);
    ended = new Promise((resolve) => response.once("finish", resolve));
    response.writeHead(200, { "content-type": "text/event-stream", ...headers });
    response.write(events, () => void setTimeout(20).then(() => end(request)));
  };
}

const ending: Answer = ({ response }) => void response.end();

function ask(path: string, model: string): Promise<Response> {
  const { max_tokens, messages } = HI;
  const prompt =
    path === "/v1/responses"
      ? { input: "hi", max_output_tokens: max_tokens, store: false }
      : { messages, max_tokens };
  const headers = { authorization: `Bearer ${service.owner.key}` };
  return service.post({ ...prompt, model, stream: true }, headers, path);
}

/** Asks for an answer three times. Returns how many connections its upstream has seen. */
async function connectionsOfThree(path: string, model: string, last: string): Promise<number> {
  ports = [];
  for (let requests = 0; requests < 3; requests++) {
    const response = await ask(path, model);
    expect(await response.text()).toContain(last);
    await ended;
    // Nothing tells when the service has read it. Tests try again where that took longer.
    await setTimeout(100);
  }
  expect(ports).toHaveLength(3);
  return new Set(ports).size;
}

describe("the connection of a stream whose upstream ends it a little after its last event", () => {
  it.each([
    ["forwarded chunks", "/v1/chat/completions", "acme/chat", "[DONE]"],
    ["translated chunks", "/v1/messages", "acme/chat", "message_stop"],
    ["a forwarded message", "/v1/messages", "acme/native", "message_stop"],
    ["a translated message", "/v1/responses", "acme/native", "response.completed"],
  ])("serves the next request, too: %s", async (_, path, model, last) => {
    Object.assign(service.answers, { chat: answering(CHAT, ending), native: answering(NATIVE, ending) });
    await expect.poll(() => connectionsOfThree(path, model, last)).toBe(1);
  });

  it("serves the next request, too, if the stream is compressed", async () => {
    service.answers.chat = answering(gzipSync(CHAT), ending, { "content-encoding": "gzip" });
    await expect.poll(() => connectionsOfThree("/v1/chat/completions", "acme/chat", "[DONE]")).toBe(1);
  });
});

describe("the connection of a stream whose upstream does not end it after its last event", () => {
  it.each<[string, Answer]>([
    ["is silent", () => {}],
    [
      "sends more and more",
      ({ response }) => {
        const more = () => void (response.destroyed || response.write(`: ${"x".repeat(10_000)}\n\n`, more));
        more();
      },
    ],
  ])("is closed, and the client does not wait for that: it %s", async (_, after) => {
    service.answers.chat = answering(CHAT, after);
    const asked = service.chat.received.length;
    const response = await ask("/v1/chat/completions", "acme/chat");
    expect(await response.text()).toContain("[DONE]");
    await service.chat.received[asked]?.dropped;
  });
});

describe("the connection of a stream that its client leaves", () => {
  it("is closed at once", async () => {
    service.answers.chat = answering(chunkOf({ role: "assistant", content: "Hello" }), () => {});
    const asked = service.chat.received.length;
    const response = await ask("/v1/chat/completions", "acme/chat");
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await service.chat.received[asked]?.dropped;
  });
});

describe("the connection of an upstream that sends a second answer unasked", () => {
  const UNASKED = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n";

  it.each<[string, Answer]>([
    [
      "behind the first",
      ({ response }) => {
        const { socket } = response;
        response.end(() => socket?.write(UNASKED));
      },
    ],
    [
      "in two parts, behind an interim answer",
      ({ response }) => {
        const { socket } = response;
        response.end(() => {
          socket?.write(`HTTP/1.1 103 Early Hints\r\n\r\n${UNASKED.slice(0, 10)}`);
          void setTimeout(20).then(() => socket?.write(UNASKED.slice(10)));
        });
      },
    ],
  ])("is closed, so that it is not taken for that to the next request: %s", async (_, end) => {
    service.answers.chat = answering(CHAT, end);
    expect(await connectionsOfThree("/v1/chat/completions", "acme/chat", "[DONE]")).toBe(3);
  });
});

describe("the connection of an upstream that sends interim answers without end", () => {
  it("is closed, and the client gets an error", async () => {
    const interim = "HTTP/1.1 102 Processing\r\n\r\n".repeat(100);
    let sent = 0;
    service.answers.chat = ({ response: { socket } }) => {
      const more = (error?: Error | null) => {
        sent += 100;
        if (socket?.writable === true && error == null) socket.write(interim, more);
      };
      more();
    };
    const response = await ask("/v1/chat/completions", "acme/chat");
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_error" } });
    // The request is sent twice. What the system keeps of a connection that is closed counts, too.
    expect(sent).toBeLessThan(1_000_000);
    await expect.poll(() => service.lastEntry()).toMatchObject({ status: 502, endReason: "upstream_error" });
  });

  it("serves a request that is answered after some thousand of them", async () => {
    service.answers.chat = (request) => {
      request.response.socket?.write("HTTP/1.1 102 Processing\r\n\r\n".repeat(5_000));
      answering(CHAT, ending)(request);
    };
    for (const _ of [1, 2, 3]) {
      const response = await ask("/v1/chat/completions", "acme/chat");
      expect(await response.text()).toContain("[DONE]");
    }
  });
});
