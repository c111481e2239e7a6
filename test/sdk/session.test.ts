import { describe, expect, it } from "vitest";
import { AuditExport, InternalServerError, openSessionTransport } from "../../sdk/src/session.ts";
import { answersInTurn, caught, collect, failing } from "./fake-service.ts";

const BASE = "https://gateway.example/dashboard";
const CHAT = { method: "POST", path: "/chat/completions", body: { model: "m" } } as const;

describe("a transport for the service's pages", () => {
  it("sends requests to the session's path, with their headers and without a key", async () => {
    const fetch = answersInTurn(() => Response.json({ choices: [] }));
    const transport = openSessionTransport({ baseURL: BASE, fetch });
    await transport.request(CHAT, { headers: { "ostiary-key": "id" } });
    const [url, init] = fetch.mock.calls[0] ?? [];
    expect(url).toBe(`${BASE}/chat/completions`);
    expect(new Headers(init?.headers).get("ostiary-key")).toBe("id");
    expect(new Headers(init?.headers).has("authorization")).toBe(false);
  });

  it("does not retry a request", async () => {
    const fetch = answersInTurn(failing(503, { "retry-after": "0" }));
    const transport = openSessionTransport({ baseURL: BASE, fetch });
    expect(await caught(transport.request(CHAT))).toBeInstanceOf(InternalServerError);
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("resumes an export after the last whole line, and reports the interruption before it waits", async () => {
    const fetch = answersInTurn(
      () => new Response("id,cursor\na,c1\nb,c"),
      () => new Response("b,c2\n"),
    );
    const transport = openSessionTransport({ baseURL: BASE, fetch });
    const told: { readonly resumptions: number; readonly requests: number }[] = [];
    const lines = new AuditExport(
      transport,
      { format: "csv" },
      { onProgress: ({ resumptions }) => told.push({ resumptions, requests: fetch.mock.calls.length }) },
    );
    expect(await collect(lines)).toEqual(["id,cursor", "a,c1", "b,c2"]);
    expect(fetch.mock.calls.map(([url]) => String(url))).toEqual([
      `${BASE}/audit/export?format=csv`,
      `${BASE}/audit/export?format=csv&cursor=c1`,
    ]);
    expect(told).toContainEqual({ resumptions: 1, requests: 1 });
  });
});
