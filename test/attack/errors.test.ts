import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { RefusedCaller } from "../../server/src/access/access.ts";
import { BodyBudget } from "../../server/src/admission/body-budget.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { Failure, Unavailable } from "../../server/src/errors/failure.ts";
import { createApp } from "../../server/src/http/app.ts";
import { CallLimits } from "../../server/src/management/call-limits.ts";
import { createRpcHandler, type RpcParts } from "../../server/src/management/handler.ts";
import { withoutSecrets } from "../../server/src/secrets/redact.ts";

/** A log in memory, redacted as the service's is. */
function memoryLog() {
  let text = "";
  const log = pino(
    { level: "info", hooks: { streamWrite: withoutSecrets } },
    {
      write: (line: string) => {
        text += line;
      },
    },
  );
  return { log, text: () => text };
}

const SECRET = `sk-${"a".repeat(48)}`;
const newId = () => "0199c1f2-0000-7000-8000-000000000001" as EntryId;

function appThat(throws: () => never) {
  const { log, text } = memoryLog();
  const fail = async (): Promise<never> => throws();
  const app = createApp({
    accessLog: null,
    clientAddress: () => null,
    rpc: fail,
    metrics: fail,
    dashboard: { answer: throws },
    newId,
    notReady: fail,
    log,
  });
  return { answer: (path: string) => app(new Request(`http://x${path}`), "127.0.0.1"), text };
}

describe("an unexpected error", () => {
  const THROWN: Readonly<Record<string, () => never>> = {
    "an error": () => {
      throw new Error(`unforeseen, with ${SECRET}`);
    },
    "a string": () => {
      throw `unforeseen, with ${SECRET}`;
    },
    undefined: () => {
      throw undefined;
    },
    "an unreachable store": () => {
      throw new Unavailable("away");
    },
  };

  it.each(Object.entries(THROWN))(
    'of the kind "%s" is answered as an error, and logged without secrets',
    async (name, throws) => {
      const { answer, text } = appThat(throws);
      for (const path of ["/trpc/auth.me", "/metrics", "/readyz", `/any?key=${SECRET}`]) {
        const response = await answer(path);
        expect(response.status).toBe(name === "an unreachable store" ? 503 : 500);
        expect(response.headers.get("x-request-id")).toMatch(/^req_/);
        const body = await response.text();
        expect(JSON.parse(body)).toMatchObject({ error: { type: "server_error" } });
        expect(body).not.toContain(SECRET);
      }
      expect(text().trim().split("\n")).toHaveLength(4);
      expect(text()).not.toContain(SECRET);
    },
  );

  it("in recording a refused key's call is answered and logged without secrets", async () => {
    const { log, text } = memoryLog();
    const account = { id: "a" };
    const refused = new RefusedCaller(new Failure("account_suspended", "Suspended."), {
      account,
      key: { id: "k", keyId: "1234" },
    } as unknown as RefusedCaller["snapshot"]);
    const handler = createRpcHandler({
      access: {
        authenticate: () => {
          throw refused;
        },
      },
      recorder: {
        record: async () => {
          throw new Error(`the journal failed, with ${SECRET}`);
        },
      },
      router: { _def: { procedures: {} } },
      callLimits: new CallLimits(() => 0),
      bodies: new BodyBudget({ processBytes: 1_000, accountBytes: 1_000, addressBytes: 1_000 }),
      security: { note: () => {} },
      clientAddress: () => null,
      browserAddress: { origin: null, isHttps: false },
      now: () => new Date(),
      newId,
      log,
    } as unknown as RpcParts);
    const response = await handler(
      new Request("http://x/trpc/audit.list", { headers: { authorization: `Bearer ${SECRET}` } }),
      "127.0.0.1",
    );
    expect(response.status).toBe(500);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(await response.json()).toMatchObject({ error: { code: "internal_error" } });
    expect(text()).toContain("the journal failed");
    expect(text()).not.toContain(SECRET);
  });
});
