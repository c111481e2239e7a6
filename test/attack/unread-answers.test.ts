import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

// What clients can make the service keep by not reading their answers.

const MIB = 1024 * 1024;
const CLIENTS = 12;
/** One of the largest answers: 11 MiB, up to 4 MiB of which the system buffers. The request has 16 KiB, and takes 2,048 tokens. */
const LARGEST = {
  model: "sandbox/embedding",
  input: Array(2_048).fill("x"),
  dimensions: 1_024,
  encoding_format: "base64",
};

let service: Service;
let key: string;

beforeAll(async () => {
  const limits = {
    OSTIARY_MAX_BODY_BYTES: String(8 * MIB),
    OSTIARY_MAX_UNFINISHED_BODY_BYTES: String(32 * MIB),
  };
  service = await startService({ env: { ...limits, OSTIARY_LOG: "silent" } });
  key = (await signUpWithKey(service.baseUrl)).key;
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

interface StalledClient {
  /** Reads the rest. Resolves whether the answer was complete. */
  read(): Promise<boolean>;
}

/** A client that reads the beginning of an answer, and no more. */
async function stalledClient(): Promise<StalledClient> {
  const { hostname, port } = new URL(service.baseUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress: "127.0.0.2" });
  const body = JSON.stringify(LARGEST);
  socket.write(
    `POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let missing = 2_048 * 1_024 * 4;
  socket.on("error", () => {});
  socket.on("data", (piece) => {
    missing -= piece.length;
    if (missing <= 0) socket.destroy();
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  // Where the test itself is kept waiting, an answer may be dropped before its beginning was read.
  await Promise.race([closed, new Promise((resolve) => socket.once("data", resolve))]);
  socket.pause();
  return {
    read: async () => {
      socket.resume();
      await closed;
      return missing <= 0;
    },
  };
}

describe("answers that are not read", () => {
  it("are dropped when they take too much memory together, and those that are read arrive", async () => {
    const clients: StalledClient[] = [];
    for (let client = 0; client < CLIENTS; client++) clients.push(await stalledClient());
    const answer = await fetch(`${service.baseUrl}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(LARGEST),
    });
    expect((await answer.json()).data).toHaveLength(2_048);
    await setTimeout(1_000);
    // Of those that are left, the service keeps at most 16 MiB, and the system 4 MiB of each.
    const areComplete = await Promise.all(clients.map((client) => client.read()));
    expect(areComplete.filter(Boolean).length).toBeLessThanOrEqual(4);
  });
});
