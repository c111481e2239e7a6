import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startService);
let key: string;

beforeAll(async () => {
  key = (await signUpWithKey(service.baseUrl)).key;
});

/** Of one, two, three and four bytes each. */
const TEXT = "a é … 🙂 ".repeat(40);

/** What a server answers to bytes, until it closes the connection or `isEnough` says so. */
async function answerTo(
  bytes: string,
  isEnough: (received: string) => boolean = () => false,
): Promise<string> {
  const { hostname, port } = new URL(service.baseUrl);
  const socket = connect(Number(port), hostname);
  const parts: Buffer[] = [];
  socket.on("data", (part) => {
    parts.push(part);
    if (isEnough(Buffer.concat(parts).toString())) socket.destroy();
  });
  socket.write(bytes);
  await once(socket, "close");
  return Buffer.concat(parts).toString();
}

function requestFor(text: string, version: string, ...headers: string[]): string {
  const body = JSON.stringify({
    model: "sandbox/echo",
    stream: true,
    messages: [{ role: "user", content: text }],
  });
  return [
    `POST /v1/chat/completions HTTP/${version}`,
    "host: x",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
    "",
    body,
  ].join("\r\n");
}

/** The bodies of answers in chunked coding (RFC 9112, section 7.1), one after the other. */
function bodiesIn(received: string): readonly string[] {
  let rest = Buffer.from(received);
  const bodies: string[] = [];
  while (rest.length > 0) {
    rest = rest.subarray(rest.indexOf("\r\n\r\n") + 4);
    const chunks: Buffer[] = [];
    for (;;) {
      const lineEnd = rest.indexOf("\r\n");
      const size = Number.parseInt(rest.subarray(0, lineEnd).toString(), 16);
      const end = lineEnd + 2 + size;
      expect(rest.subarray(end, end + 2).toString()).toBe("\r\n");
      chunks.push(rest.subarray(lineEnd + 2, end));
      rest = rest.subarray(end + 2);
      if (size === 0) break;
    }
    bodies.push(Buffer.concat(chunks).toString());
  }
  return bodies;
}

function textOf(events: string): string {
  return events
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice(6)).choices[0]?.delta?.content ?? "")
    .join("");
}

describe("a streamed answer on the wire", () => {
  it("has chunks whose lengths are right, and an empty one at the end", async () => {
    const received = await answerTo(requestFor(TEXT, "1.1", "connection: close"));
    expect(received).toMatch(/^HTTP\/1\.1 200 .*transfer-encoding: chunked/is);
    const [events = ""] = bodiesIn(received);
    expect(events.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(textOf(events)).toBe(TEXT);
  });

  it("has no chunks for an HTTP/1.0 client, and ends with its connection", async () => {
    const received = await answerTo(requestFor(TEXT, "1.0"));
    const head = received.slice(0, received.indexOf("\r\n\r\n"));
    expect(head).toMatch(/^HTTP\/1\.[01] 200 /);
    expect(head).not.toMatch(/transfer-encoding/i);
    const events = received.slice(head.length + 4);
    expect(events).toMatch(/^data: \{.*\n\ndata: \[DONE\]\n\n$/s);
    expect(textOf(events)).toBe(TEXT);
  });

  it("keeps its place among pipelined requests", async () => {
    const texts = ["the first", TEXT, "the last"];
    const received = await answerTo(
      texts.map((text) => requestFor(text, "1.1")).join(""),
      (text) => text.split("\r\n0\r\n\r\n").length > texts.length,
    );
    expect(bodiesIn(received).map(textOf)).toEqual(texts);
  });
});
