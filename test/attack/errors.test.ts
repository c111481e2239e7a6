import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { RefusedCaller } from "../../server/src/access/access.ts";
import { BodyBudget } from "../../server/src/admission/body-budget.ts";
import { type EntryId, requestIdOf } from "../../server/src/contract/entry.ts";
import { Failure, Unavailable } from "../../server/src/errors/failure.ts";
import { FaultLog } from "../../server/src/errors/fault-log.ts";
import { createApp } from "../../server/src/http/app.ts";
import { CallLimits } from "../../server/src/management/call-limits.ts";
import { createRpcHandler, type RpcParts } from "../../server/src/management/handler.ts";
import { publicProcedure, router } from "../../server/src/management/trpc.ts";
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
  let nowMs = 0;
  const faults = new FaultLog({ log, monotonicMs: () => nowMs });
  return { faults, text: () => text, pass: (ms: number) => (nowMs += ms) };
}

const SECRET = `sk-${"a".repeat(48)}`;
const newId = () => "0199c1f2-0000-7000-8000-000000000001" as EntryId;

/** The handler of procedures. */
function rpcHandler(parts: {
  readonly faults: FaultLog;
  readonly router: object;
  readonly authenticate?: () => never;
  readonly record?: () => Promise<never>;
}) {
  return createRpcHandler({
    access: { authenticate: parts.authenticate },
    recorder: { record: parts.record },
    router: parts.router,
    callLimits: new CallLimits(() => 0, 10_000),
    bodies: new BodyBudget({ processBytes: 1_000, accountBytes: 1_000, addressBytes: 1_000 }),
    security: { note: () => {} },
    clientAddress: () => null,
    browserAddress: { origin: null, isHttps: false },
    now: () => new Date(),
    newId,
    faults: parts.faults,
  } as unknown as RpcParts);
}

function appThat(throws: () => never) {
  const { faults, text } = memoryLog();
  const fail = async (): Promise<never> => throws();
  const app = createApp({
    accessLog: null,
    clientAddress: () => null,
    requireOwnHost: () => {},
    rpc: fail,
    metrics: fail,
    dashboard: { answer: throws },
    newId,
    notReady: fail,
    faults,
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

  it("of a procedure that is called again and again has a line for each of few calls, and the number of the others", async () => {
    const { faults, text, pass } = memoryLog();
    const broken = publicProcedure.query(() => {
      throw new Error("unforeseen");
    });
    const handler = rpcHandler({ faults, router: router({ broken }) });
    for (let calls = 0; calls < 50; calls++) {
      const response = await handler(new Request("http://x/trpc/broken"), "127.0.0.1");
      expect(response.status).toBe(500);
    }
    pass(10_000);
    faults.report();
    const lines = text()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(21);
    expect(lines[0]).toMatchObject({
      msg: "a request failed",
      procedure: "broken",
      requestId: requestIdOf(newId()),
    });
    expect(lines[20]).toMatchObject({ msg: "further requests failed", procedure: "broken", requests: 30 });
  });

  it("in recording a refused key's call is answered and logged without secrets", async () => {
    const { faults, text } = memoryLog();
    const account = { id: "a" };
    const refused = new RefusedCaller(new Failure("account_suspended", "Suspended."), {
      account,
      key: { id: "k", keyId: "1234" },
    } as unknown as RefusedCaller["snapshot"]);
    const handler = rpcHandler({
      faults,
      router: { _def: { procedures: {} } },
      authenticate: () => {
        throw refused;
      },
      record: async () => {
        throw new Error(`the journal failed, with ${SECRET}`);
      },
    });
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
