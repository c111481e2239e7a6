import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readProcedureData, UnreadableData } from "../../sdk/src/contract/procedure-data.ts";
import { RefusedCaller } from "../../server/src/access/access.ts";
import { BodyBudget } from "../../server/src/admission/body-budget.ts";
import { createApp } from "../../server/src/app.ts";
import type { EntryId } from "../../server/src/audit/entry.ts";
import { Failure, Unavailable } from "../../server/src/errors/failure.ts";
import { CallLimits } from "../../server/src/rpc/call-limits.ts";
import { createRpcHandler, type RpcParts } from "../../server/src/rpc/handler.ts";
import { withoutSecrets } from "../../server/src/secrets/redact.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

let service: Service;

beforeAll(async () => {
  service = await startOperatedService();
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly headers: Headers;
}

async function call(
  procedure: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const send = () =>
    fetch(`${service.baseUrl}/trpc/${procedure}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  // A connection on which a body was refused ends soon after the answer, maybe as it is used again.
  return answerOf(await send().catch(send));
}

/** Of a procedure, or of what stands before all of them. */
interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly json?: {
      readonly message: string;
      readonly data: { readonly ostiary: { readonly code: string } };
    };
  };
}

async function answerOf(response: Response): Promise<Answer> {
  const body = (await response.json()) as ErrorBody | ErrorBody[];
  const { error } = (Array.isArray(body) ? body[0] : body) ?? {};
  return {
    status: response.status,
    code: error?.json?.data.ostiary.code ?? error?.code,
    message: error?.json?.message ?? error?.message,
    headers: response.headers,
  };
}

/** What the service's process has taken so far. */
async function taken(): Promise<{ readonly cpuS: number; readonly bytes: number }> {
  const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1]);
  return { cpuS: value("process_cpu_seconds_total"), bytes: value("process_resident_memory_bytes") };
}

const email = "x@example.com";
const MIB = 1024 * 1024;

/** Each names, in superjson's notes, something else than what procedures use. */
const FORGED: Readonly<Record<string, unknown>> = {
  "a typed array of any length": {
    json: { email: { length: 100_000_000 }, password: "x" },
    meta: { values: { email: [["typed-array", "Uint8Array"]] } },
  },
  "typed arrays by number": {
    json: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, 4_000_000_000])),
    meta: {
      values: Object.fromEntries(
        Array.from({ length: 40 }, (_, at) => [`f${at}`, [["typed-array", "Int8Array"]]]),
      ),
    },
  },
  "references into a set": {
    json: { email, s: Array.from({ length: 1_000 }, (_, at) => at) },
    meta: {
      values: { s: ["set"] },
      referentialEqualities: { email: Array.from({ length: 500 }, () => "s.999") },
    },
  },
  "a map": { json: { email: [["a", 1]] }, meta: { values: { email: ["map"] } } },
  "an error": { json: { email: { message: "x" } }, meta: { values: { email: ["Error"] } } },
  "a regular expression": { json: { email: "/(a+)+$/" }, meta: { values: { email: ["regexp"] } } },
  "a URL": { json: { email: "http://x/" }, meta: { values: { email: ["URL"] } } },
  "a number": { json: { email: "NaN" }, meta: { values: { email: ["number"] } } },
  "a class": { json: { email: {} }, meta: { values: { email: [["class", "Date"]] } } },
  "a symbol": { json: { email: "x" }, meta: { values: { email: [["symbol", "x"]] } } },
  "a custom type": { json: { email: "x" }, meta: { values: { email: [["custom", "x"]] } } },
  "a type that there is not": { json: { email }, meta: { values: { email: ["toString"] } } },
  "a note that is no list": { json: { email }, meta: { values: { email: "Date" } } },
  "notes within notes": { json: { email: [email] }, meta: { values: { email: ["set", { 0: ["Date"] }] } } },
  "notes within a date": { json: { email }, meta: { values: { email: ["Date", { 0: ["Date"] }] } } },
  "the prototype": { json: { email }, meta: { values: { "__proto__.polluted": ["undefined"] } } },
  "the constructor": {
    json: { email },
    meta: { values: { "constructor.prototype.polluted": ["undefined"] } },
  },
  "an array's length": { json: { email: [] }, meta: { values: { "email.length": ["undefined"] } } },
  "an index beyond an array": {
    json: { email: [] },
    meta: { values: { "email.4294967294": ["undefined"] } },
  },
  "a place that there is not": { json: { email }, meta: { values: { other: ["undefined"] } } },
  "a place in a text": { json: { email }, meta: { values: { "email.0": ["undefined"] } } },
  "a path that is too deep": { json: { email }, meta: { values: { [".".repeat(50)]: ["undefined"] } } },
  "a path that is too long": { json: { email }, meta: { values: { ["a".repeat(5_000)]: ["undefined"] } } },
  "a number of thousands of digits": {
    json: { email: "9".repeat(3_000) },
    meta: { values: { email: ["bigint"] } },
  },
  "a number that is none": { json: { email: "1e3" }, meta: { values: { email: ["bigint"] } } },
  "a date that is none": {
    json: { email: "2026-02-31T99:00:00.000Z" },
    meta: { values: { email: ["Date"] } },
  },
  "a date in words": { json: { email: "yesterday (really)" }, meta: { values: { email: ["Date"] } } },
  "an absence that is there": { json: { email }, meta: { values: { email: ["undefined"] } } },
  "notes that are a text": { json: { email }, meta: "values" },
  "notes that are a list": { json: { email }, meta: [] },
  "notes of another kind": { json: { email }, meta: { values: {}, more: {} } },
  "no object": [],
  nothing: null,
  "a text": '"x"',
};

describe("the input of a procedure that is open to everyone", () => {
  it.each(Object.entries(FORGED))("is refused when it names %s", async (_, forged) => {
    const before = await taken();
    const answers = [
      await call("auth.signIn", forged),
      await call("auth.signUp,auth.signIn?batch=1", { 0: forged, 1: forged }),
    ];
    const after = await taken();
    expect(answers.map(({ status }) => status)).toEqual([400, 400]);
    expect(answers.map(({ code }) => code)).toEqual(["invalid_request", "invalid_request"]);
    // What is refused costs nothing that its sender could choose.
    expect(after.cpuS - before.cpuS).toBeLessThan(1);
    expect(after.bytes - before.bytes).toBeLessThan(100 * MIB);
  });
});

describe("the input of a procedure", () => {
  let owner: Owner;
  beforeAll(async () => {
    owner = await signUp(service.baseUrl);
  });

  it("may hold dates and nothing, as superjson writes them", async () => {
    const date = new Date();
    // One object in two places: superjson notes that, and is understood without.
    const summary = await owner.trpc.usage.summary
      .query({ from: date, to: date, interval: "day" })
      .catch((error: unknown) => String(error));
    expect(summary).toContain("must be after");
    expect(await owner.trpc.audit.list.query({ from: undefined, to: date.toISOString(), limit: 1 })).toEqual({
      entries: [],
      nextCursor: null,
    });
  });

  it("has no more dates, bigints and absences than an input needs", () => {
    const values = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [at, ["undefined"]]));
    const data = () => ({ json: Array.from({ length: 1_001 }, () => null), meta: { values } });
    expect(() => readProcedureData(data(), { maxTypedValues: 1_000 })).toThrow(UnreadableData);
    expect(readProcedureData(data(), { maxTypedValues: 1_001 })).toHaveLength(1_001);
  });

  it("that names a key as a field is refused without repeating it", async () => {
    const { key } = await owner.trpc.keys.create.mutate({ name: "pasted" });
    const answer = await call("auth.signIn", { json: { email, password: "x", [key]: 1 } });
    expect(answer).toMatchObject({ status: 400, code: "invalid_request" });
    expect(answer.message).not.toContain(key);
  });
});

const KIB = 1024;

/** A body whose length is not told before. */
function chunked(text: string): ReadableStream<Uint8Array> {
  return new Blob([text]).stream();
}

describe("the body of a call", () => {
  let owner: Owner;
  beforeAll(async () => {
    owner = await signUp(service.baseUrl);
  });

  const long = (bytes: number) => JSON.stringify({ json: { name: "x".repeat(bytes) } });

  it("of somebody who is not signed in has at most 16 KiB, whatever the procedure", async () => {
    for (const procedure of ["auth.signIn", "keys.create", "operator.journal.replay", "no.such.procedure"]) {
      expect(await call(procedure, long(17 * KIB))).toMatchObject({ status: 413, code: "request_too_large" });
    }
    const cookie = { cookie: "ostiary_session=made0up" };
    expect(await call("keys.create", long(17 * KIB), cookie)).toMatchObject({ status: 413 });
  });

  it("has at most that where its length is not told", async () => {
    const response = await fetch(`${service.baseUrl}/trpc/auth.signIn`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: chunked(long(40 * KIB)),
      duplex: "half",
    } as RequestInit);
    expect(await answerOf(response)).toMatchObject({ status: 413, code: "request_too_large" });
  });

  it("has as much as its procedures' inputs may have, of somebody who is signed in", async () => {
    const cookie = { cookie: owner.cookie() };
    expect(await call("keys.create", long(17 * KIB), cookie)).toMatchObject({ status: 413 });
    expect(await call("keys.create,keys.create?batch=1", long(17 * KIB), cookie)).toMatchObject({
      status: 400,
    });
    expect(await call("keys.create", long(10 * KIB), cookie)).toMatchObject({ status: 400 });
    const operator = await signInOperator(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const networks = Array.from({ length: 1_000 }, (_, at) => `2001:db8:${at.toString(16)}:0000:0000::/80`);
    await operator.trpc.operator.accounts.setIpRules.mutate({ id, rules: { networks, mode: "report" } });
    expect((await owner.trpc.account.get.query()).ipRules.networks).toHaveLength(1_000);
    const asOperator = { cookie: operator.cookie() };
    const half = JSON.stringify({ json: { ids: ["0123456789ab"], replacement: "x".repeat(500 * KIB) } });
    expect(await call("operator.journal.replay", half, asOperator)).not.toMatchObject({ status: 413 });
  });
});

/** Batches of 20 calls each, one after the other: how many calls were let through, and one of the refusals. */
async function flood(procedure: string, batches: number, headers: Record<string, string>) {
  const names = Array.from({ length: 20 }, () => procedure).join(",");
  const startMs = performance.now();
  let passed = 0;
  let refused: Response | null = null;
  for (let batch = 0; batch < batches; batch++) {
    const response = await fetch(`${service.baseUrl}/trpc/${names}?batch=1&input={}`, { headers });
    await response.clone().arrayBuffer();
    if (response.status === 429) refused = response;
    else passed += 20;
  }
  return { passed, refused, minutes: (performance.now() - startMs) / 60_000 };
}

async function refusedCalls(reason: string): Promise<number> {
  const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
  return Number(
    new RegExp(`^ostiary_procedure_calls_refused_total{reason="${reason}"} (\\S+)`, "m").exec(text)?.[1],
  );
}

describe("calls beyond what there may be a minute", () => {
  it("of one user are refused, each call of a batch counted; others' are not", async () => {
    const [owner, other] = [await signUp(service.baseUrl), await signUp(service.baseUrl)];
    const before = await refusedCalls("caller");
    const { passed, refused, minutes } = await flood("models.list", 60, { cookie: owner.cookie() });
    expect(passed).toBeGreaterThanOrEqual(580);
    expect(passed).toBeLessThanOrEqual(600 * (1 + minutes));
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await answerOf(refused ?? Response.error())).toMatchObject({ code: "rate_limit_exceeded" });
    expect(await refusedCalls("caller")).toBe(before + 1_200 - passed);
    expect((await other.trpc.models.list.query()).models).not.toHaveLength(0);
  });

  it("of one key are refused, and leave entries", async () => {
    const owner = await signUp(service.baseUrl);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    const { passed, refused } = await flood("models.list", 60, { authorization: `Bearer ${key}` });
    expect(passed).toBeLessThan(1_200);
    expect(refused?.headers.get("x-request-id")).toMatch(/^req_/);
    const { entries } = await owner.trpc.audit.list.query({ limit: 100 });
    expect(entries).toHaveLength(60);
    const limited = entries.filter(({ errorCode }) => errorCode === "rate_limit_exceeded");
    expect(limited).toHaveLength(60 - passed / 20);
  });

  it("of auth.* from one address are refused, whoever makes them", async () => {
    const before = await refusedCalls("address");
    const { passed, refused, minutes } = await flood("auth.me", 40, {});
    expect(passed).toBeLessThanOrEqual(300 * (1 + minutes));
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refusedCalls("address")).toBe(before + 800 - passed);
    expect((await call("auth.signIn", { json: { email, password: "x" } })).code).toMatch(
      /rate_limit|wrong_cred/,
    );
  });
});

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
    rpc: fail,
    metrics: fail,
    dashboard: { answer: throws },
    newId,
    notReady: fail,
    log,
  });
  return { answer: (path: string) => app(new Request(`http://x${path}`), "127.0.0.1"), text };
}

describe("whatever is thrown", () => {
  const THROWN: Readonly<Record<string, () => never>> = {
    "an error": () => {
      throw new Error(`unforeseen, with ${SECRET}`);
    },
    "no error": () => {
      throw `unforeseen, with ${SECRET}`;
    },
    "nothing at all": () => {
      throw undefined;
    },
    "a store that is away": () => {
      throw new Unavailable("away");
    },
  };

  it.each(Object.entries(THROWN))(
    "%s is answered as an error, and logged without secrets",
    async (name, throws) => {
      const { answer, text } = appThat(throws);
      for (const path of ["/trpc/auth.me", "/metrics", "/readyz", `/any?key=${SECRET}`]) {
        const response = await answer(path);
        expect(response.status).toBe(name === "a store that is away" ? 503 : 500);
        expect(response.headers.get("x-request-id")).toMatch(/^req_/);
        const body = await response.text();
        expect(JSON.parse(body)).toMatchObject({ error: { type: "server_error" } });
        expect(body).not.toContain(SECRET);
      }
      expect(text().trim().split("\n")).toHaveLength(4);
      expect(text()).not.toContain(SECRET);
    },
  );

  it("while a refused key's call is recorded is answered, too", async () => {
    const { log, text } = memoryLog();
    const account = { id: "a" };
    const refused = new RefusedCaller(new Failure("account_suspended", "Suspended."), {
      account,
      key: { id: "k", keyId: "1234" },
    } as unknown as RefusedCaller["snapshot"]);
    const handler = createRpcHandler({
      access: {
        identify: () => {
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
      publicOrigin: null,
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
