import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AnswerHeads } from "../../server/src/http/answer-head.ts";
import { NodeExchange } from "../../server/src/http/node-exchange.ts";
import { RestingConnections } from "../../server/src/http/resting-connections.ts";
import type { BodySink } from "../../server/src/request/exchange.ts";
import { primeStream } from "../../server/src/request/stream-writer.ts";

const parts = {
  resting: new RestingConnections(() => Number.POSITIVE_INFINITY),
  heads: new AnswerHeads(65),
};

let sink: BodySink | null = null;
const server = createServer((request, response) => {
  sink = new NodeExchange(request, response, false, parts).stream(200, [{ "content-type": "text/plain" }]);
  sink.write("begun\n");
});

beforeEach(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

/** Asks for a stream by HTTP/1.0, which has no chunks. @returns how the connection ends after `finish`. */
async function endingAfter(finish: () => void): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET / HTTP/1.0\r\n\r\n");
  const ending = new Promise<string>((resolve) => {
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(code));
    socket.on("end", () => resolve("complete"));
  });
  let text = "";
  socket.setEncoding("latin1").on("data", (part) => {
    text += part;
  });
  await expect.poll(() => text, { timeout: 30_000 }).toContain("begun");
  finish();
  return await ending;
}

describe("a stream to a client of HTTP/1.0, whose end is that of its connection", () => {
  it("is complete when it has ended", async () => {
    expect(await endingAfter(() => void sink?.end())).toBe("complete");
  });

  it("is an error for the client when it is aborted", async () => {
    expect(await endingAfter(() => sink?.abort())).toBe("ECONNRESET");
  });

  it("is an error for the client when the service closes its connections", async () => {
    expect(await endingAfter(() => server.closeAllConnections())).toBe("ECONNRESET");
  });
});

describe("a stream whose request cannot be recorded", () => {
  it("is closed before its first chunk is sent, so that its upstream ends", async () => {
    let isClosed = false;
    const chunks = (async function* () {
      try {
        yield "first";
        yield "second";
      } finally {
        isClosed = true;
      }
    })();
    const unrecorded = Promise.reject(new Error("the disk is full"));
    await expect(primeStream(unrecorded, chunks)).rejects.toThrow("the disk is full");
    expect(isClosed).toBe(true);
  });
});
