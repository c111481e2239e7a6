import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import { APIConnectionError, Ostiary } from "../../sdk/src/index.ts";
import { answersInTurn, caught, collect, newClient } from "./fake-service.ts";

const body = { model: "m", messages: [{ role: "user", content: "hi" }] } as const;

/** Calls that nothing makes safe to repeat once the service has received them. */
const calls: Readonly<Record<string, (client: Ostiary) => Promise<unknown>>> = {
  "a stream": async (client) => collect(await client.chat.completions.create({ ...body, stream: true })),
  "a stream with events": (client) => client.chat.completions.stream(body).finalCompletion(),
  "a change of a key": (client) => client.keys.revoke("0198c7de-5d3a-7c21-9f44-2b1e6a70c5d8"),
};

let port: number;

beforeEach(async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  port = (server.address() as AddressInfo).port;
  await new Promise((resolve) => server.close(resolve));
});

describe("a request whose connection cannot be opened", () => {
  it.each(Object.keys(calls))("is sent again, because the service has received nothing: %s", async (name) => {
    const attempts: number[] = [];
    const client = new Ostiary({
      apiKey: "sk-test",
      managementToken: "mt-test",
      baseURL: `http://127.0.0.1:${port}`,
      maxRetries: 1,
    });
    client.on("request", ({ attempt }) => attempts.push(attempt));
    expect(await caught(calls[name]?.(client) ?? Promise.resolve())).toBeInstanceOf(APIConnectionError);
    expect(attempts).toEqual([0, 1]);
  });

  it.each([
    ["Node", { code: "ECONNREFUSED" }, "connect ECONNREFUSED 127.0.0.1:80"],
    ["Node, for several addresses", { code: "ECONNREFUSED" }, ""],
    ["Node, for a network without a route", { code: "ENETUNREACH" }, "connect ENETUNREACH 10.0.0.1:80"],
    ["Node, for several unreachable addresses", { code: "EHOSTUNREACH" }, ""],
    [
      "Node, for a name server that does not answer",
      { code: "EAI_AGAIN" },
      "getaddrinfo EAI_AGAIN service.test",
    ],
    ["Node, for an unknown host", { code: "ENOTFOUND" }, "getaddrinfo ENOTFOUND service.test"],
    [
      "Deno",
      {},
      "error sending request for url (http://service.test/): client error (Connect): tcp connect error",
    ],
  ])("is recognized on each runtime, by what its fetch says: %s", async (_, details, message) => {
    for (const [name, call] of Object.entries(calls)) {
      const fetch = answersInTurn(() => {
        throw new TypeError("fetch failed", { cause: Object.assign(new Error(message), details) });
      });
      const client = newClient({ fetch, maxRetries: 1, managementToken: "mt-test" });
      expect(await caught(call(client)), name).toBeInstanceOf(APIConnectionError);
      expect(fetch, name).toHaveBeenCalledTimes(2);
    }
  });

  it.each(["ECONNRESET", "EHOSTUNREACH"])(
    "is not taken for one whose connection was lost (%s), of which the service may have done the work",
    async (code) => {
      for (const [name, call] of Object.entries(calls)) {
        const fetch = answersInTurn(() => {
          throw new TypeError("fetch failed", { cause: Object.assign(new Error(`read ${code}`), { code }) });
        });
        const client = newClient({ fetch, maxRetries: 1, managementToken: "mt-test" });
        expect(await caught(call(client)), name).toBeInstanceOf(APIConnectionError);
        expect(fetch, name).toHaveBeenCalledTimes(1);
      }
    },
  );
});
