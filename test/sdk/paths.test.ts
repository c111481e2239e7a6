import { describe, expect, it } from "vitest";
import { OstiaryError } from "../../sdk/src/index.ts";
import { answersInTurn, emptyList, newClient } from "./fake-service.ts";

describe("a path", () => {
  it.each([
    "/models/../audit",
    "/models\\..\\..\\x",
    "/a/%2e%2e/x",
    "/a/.%2E/x",
    "/a/..%2fx",
    "/a/.\t./x",
    "/a//x",
    "/a/.",
    "/a/%zz",
    "/%2fevil.example",
  ])("that leaves its endpoint is refused, and nothing is sent: %j", (path) => {
    const fetch = answersInTurn(emptyList);
    expect(() => newClient({ fetch }).get(path)).toThrow(OstiaryError);
    expect(() => newClient({ fetch }).post(path)).toThrow(OstiaryError);
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each([
    ["/models/a b", "/v1/models/a%20b"],
    ["/models/ä%20ö", "/v1/models/%C3%A4%20%C3%B6"],
    ["/models/a%2Fb", "/v1/models/a%2Fb"],
    ["/x?next=/../y//z", "/v1/x?next=/../y//z"],
    ["/a..b/.c", "/v1/a..b/.c"],
    ["/models/m:1@2", "/v1/models/m:1@2"],
  ])("below /v1 is sent: %j", async (path, sent) => {
    const fetch = answersInTurn(emptyList);
    await newClient({ fetch, baseURL: "http://service.example" }).get(path);
    expect(new URL(String(fetch.mock.calls[0]?.[0])).href).toBe(`http://service.example${sent}`);
  });

  it("is in events and logs without its query, also when the request is retried", async () => {
    const seen: unknown[] = [];
    const write = (...details: unknown[]) => seen.push(details);
    const fetch = answersInTurn(
      () => Response.json({}, { status: 503, headers: { "retry-after-ms": "1" } }),
      emptyList,
    );
    const logger = { debug: write, info: write, warn: write, error: write };
    const client = newClient({ fetch, logger, logLevel: "debug", maxRetries: 1 });
    client.on("request", write).on("response", write);
    await client.get("/x?secret=1");
    expect(fetch.mock.calls.map(([url]) => new URL(String(url)).search)).toEqual(["?secret=1", "?secret=1"]);
    expect(JSON.stringify(seen)).toContain('"/x"');
    expect(JSON.stringify(seen)).not.toContain("secret");
  });
});

describe("the id of a model", () => {
  it.each(["..", "../audit/export", "a/../../audit", "./x", "a\\b", "a//b"])(
    "that leads to another endpoint is refused, and nothing is sent: %j",
    (id) => {
      const fetch = answersInTurn(emptyList);
      expect(() => newClient({ fetch }).models.retrieve(id)).toThrow(OstiaryError);
      expect(fetch).not.toHaveBeenCalled();
    },
  );

  it.each([
    ["mistral/large", "/v1/models/mistral/large"],
    ["100% ä?#", "/v1/models/100%25%20%C3%A4%3F%23"],
    ["..a", "/v1/models/..a"],
  ])("%j is encoded", async (id, path) => {
    const fetch = answersInTurn(emptyList);
    await newClient({ fetch }).models.retrieve(id);
    expect(new URL(String(fetch.mock.calls[0]?.[0])).pathname).toBe(path);
  });
});
