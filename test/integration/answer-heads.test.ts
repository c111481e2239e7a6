import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { AnswerHeads } from "../../server/src/http/answer-head.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const heads = new AnswerHeads(65);
const JSON_ANSWER = {
  status: 200,
  headers: { "content-type": "application/json", "x-request-id": "req_1" },
  body: '{"a":1}',
};
const POST = "POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}";
const GET = "GET /v1/x HTTP/1.1\r\nhost: a\r\n\r\n";

let servers: Server[] = [];
afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
  servers = [];
});

/** What a server sends for the bytes of a client, which then asks for the connection to be closed. The date is left out. */
async function answersTo(bytes: string, listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: heads.keepAliveMs }, listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  socket.end(bytes);
  await once(socket, "close");
  return text.replaceAll(/^Date: .{25} GMT$/gm, "Date:");
}

/** Each header in an object of its own. */
function oneByOne(headers: Readonly<Record<string, string>>) {
  return Object.entries(headers).map(([name, value]) => ({ [name]: value }));
}

/** The same answer by Node's own way and by the service's. */
async function bothWays(bytes: string, { status, headers, body }: Answer) {
  const ways: boolean[] = [];
  const byNode = await answersTo(bytes, (_, response) => {
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
  });
  const byService = await answersTo(bytes, (_, response) => {
    const isWhole = heads.sendWhole(response, status, oneByOne(headers), body);
    ways.push(isWhole);
    if (!isWhole)
      response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
  });
  return { byNode, byService, ways };
}

const STREAM_HEADERS = { "content-type": "text/event-stream", "x-request-id": "req_1" };

/** The same stream by Node's own way and by the service's: what is sent, and whether the service made the head itself. */
async function bothStreams(bytes: string, headers: Readonly<Record<string, string>>) {
  const ways: boolean[] = [];
  const chunks = (response: ServerResponse) => {
    response.write("data: 1\n\n");
    setImmediate(() => {
      response.write("data: é\n\n");
      response.end();
    });
  };
  const byNode = await answersTo(bytes, (_, response) => chunks(response.writeHead(200, headers)));
  const byService = await answersTo(bytes, (_, response) => {
    const isOwn = heads.beginStream(response, 200, oneByOne(headers));
    ways.push(isOwn);
    chunks(isOwn ? response : response.writeHead(200, headers));
  });
  return { byNode, byService, ways };
}

describe("a stream whose head the service makes is the same to the byte as Node's", () => {
  for (const [how, bytes] of [
    ["POST", POST],
    ["GET", GET],
    ["three requests at once", `${POST}${GET}${POST}`],
  ] as const) {
    it(`to ${how}`, async () => {
      const { byNode, byService, ways } = await bothStreams(bytes, STREAM_HEADERS);
      expect(byService).toBe(byNode);
      expect(byService).toContain("0\r\n\r\n");
      expect(ways).toEqual(ways.map(() => true));
    });
  }

  it("and is left to Node where the head is not an ordinary one", async () => {
    const others = [
      ["HEAD /v1/x HTTP/1.1\r\nhost: a\r\n\r\n", STREAM_HEADERS],
      ["GET /v1/x HTTP/1.0\r\nhost: a\r\n\r\n", STREAM_HEADERS],
      ["GET /v1/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", STREAM_HEADERS],
      [POST, { "x-name": "caf\u00e9" }],
    ] as const;
    for (const [bytes, headers] of others) {
      const { byNode, byService, ways } = await bothStreams(bytes, headers);
      expect(byService).toBe(byNode);
      expect(ways).toEqual([false]);
    }
  });
});

describe("an answer that is sent as one text is the same to the byte as Node's", () => {
  const answers: Readonly<Record<string, Answer>> = {
    "with a body": JSON_ANSWER,
    "with an empty body": { ...JSON_ANSWER, body: "" },
    refused: { ...JSON_ANSWER, status: 503, headers: { ...JSON_ANSWER.headers, "retry-after": "1" } },
    "with a status that has no name": { ...JSON_ANSWER, status: 529 },
    "of 64 KiB": { ...JSON_ANSWER, body: "x".repeat(64 * 1024) },
  };
  for (const [name, answer] of Object.entries(answers)) {
    for (const [how, bytes] of [
      ["POST", POST],
      ["GET", GET],
      ["three requests at once", `${POST}${GET}${POST}`],
    ] as const) {
      it(`${name}, to ${how}`, async () => {
        const { byNode, byService, ways } = await bothWays(bytes, answer);
        expect(byService).toBe(byNode);
        expect(byService).toContain(`HTTP/1.1 ${answer.status} `);
        expect(ways).toEqual(ways.map(() => true));
      });
    }
  }
});

describe("any other answer is left to Node", () => {
  const others: Readonly<Record<string, readonly [bytes: string, answer: Answer]>> = {
    "to HEAD": ["HEAD /v1/x HTTP/1.1\r\nhost: a\r\n\r\n", JSON_ANSWER],
    "to HTTP/1.0": ["GET /v1/x HTTP/1.0\r\nhost: a\r\n\r\n", JSON_ANSWER],
    "to HTTP/1.0 that keeps the connection": [
      "GET /v1/x HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n",
      JSON_ANSWER,
    ],
    "to a client that closes the connection": [
      "GET /v1/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
      JSON_ANSWER,
    ],
    "with letters of any language": [POST, { ...JSON_ANSWER, body: '{"a":"é€😀"}' }],
    "with a long body": [POST, { ...JSON_ANSWER, body: "x".repeat(64 * 1024 + 1) }],
    "with a header in Latin-1": [POST, { ...JSON_ANSWER, headers: { "x-name": "caf\u00e9" } }],
  };
  for (const [name, [bytes, answer]] of Object.entries(others)) {
    it(name, async () => {
      const { byNode, byService, ways } = await bothWays(bytes, answer);
      expect(byService).toBe(byNode);
      expect(ways).toEqual([false]);
    });
  }

  it("with a line break in a header, which Node refuses", async () => {
    const thrown: unknown[] = [];
    const text = await answersTo(POST, (_, response) => {
      const headers = { "x-name": "a\r\nx-other: b" };
      expect(heads.sendWhole(response, 200, [headers], "{}")).toBe(false);
      try {
        response.writeHead(200, headers);
      } catch (error) {
        thrown.push(error);
      }
      response.statusCode = 500;
      response.end();
    });
    expect(thrown).toHaveLength(1);
    expect(text).not.toContain("x-other");
  });
});
