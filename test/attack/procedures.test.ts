import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  readProcedureData,
  UnreadableData,
  writeProcedureData,
} from "../../sdk/src/contract/procedure-data.ts";
import { answerText, cachedAnswer } from "../../server/src/management/cached-answer.ts";
import { EncodedAnswers } from "../../server/src/management/encoded-answers.ts";
import { mintSecretString, TOKEN_PREFIX } from "../../server/src/secrets/secret-string.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";
import { FORGED } from "./forged-inputs.ts";

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
  const response = await fetch(`${service.baseUrl}/trpc/${procedure}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return answerOf(response);
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

describe("the input of a procedure that needs no session", () => {
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

  it("may contain dates and undefined as superjson writes them", async () => {
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

  it("is not normalized when it is too long, which takes the square of its combining characters", async () => {
    const name = "\u0300".repeat(70_000) + "\u0316".repeat(70_000);
    const names = Array(20).fill("keys.create").join(",");
    const before = await taken();
    const answer = await call(`${names}?batch=1`, { 0: { json: { name } } }, { cookie: owner.cookie() });
    expect(answer).toMatchObject({ status: 400, code: "invalid_request" });
    expect((await taken()).cpuS - before.cpuS).toBeLessThan(1);
  });

  it("has a limit on its dates, bigints and undefined values", () => {
    const values = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [at, ["undefined"]]));
    const data = () => ({ json: Array.from({ length: 1_001 }, () => null), meta: { values } });
    expect(() => readProcedureData(data(), { maxTypedValues: 1_000 })).toThrow(UnreadableData);
    expect(readProcedureData(data(), { maxTypedValues: 1_001 })).toHaveLength(1_001);
  });

  it("that contains a key as a field name is refused without repeating the key", async () => {
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

describe("the body of a procedure call", () => {
  let owner: Owner;
  beforeAll(async () => {
    owner = await signUp(service.baseUrl);
  });

  const long = (bytes: number) => JSON.stringify({ json: { name: "x".repeat(bytes) } });

  it("is limited to 16 KiB without a session, whatever the procedure", async () => {
    for (const procedure of ["auth.signIn", "keys.create", "operator.journal.replay", "no.such.procedure"]) {
      expect(await call(procedure, long(17 * KIB))).toMatchObject({ status: 413, code: "request_too_large" });
    }
    const cookie = { cookie: "ostiary_session=made0up" };
    expect(await call("keys.create", long(17 * KIB), cookie)).toMatchObject({ status: 413 });
  });

  it("is limited to 16 KiB when its length is not declared", async () => {
    const response = await fetch(`${service.baseUrl}/trpc/auth.signIn`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: chunked(long(40 * KIB)),
      duplex: "half",
    } as RequestInit);
    expect(await answerOf(response)).toMatchObject({ status: 413, code: "request_too_large" });
  });

  it("is limited in the texts that are numerals, which can collide in a hash table", async () => {
    const numerals = Array.from({ length: 4_001 }, (_, index) => `${(index + 1) * 65_536}`);
    const body = JSON.stringify({ 0: { json: { name: "n", numerals } } });
    const names = Array(4).fill("keys.create").join(",");
    expect(await call(`${names}?batch=1`, body, { cookie: owner.cookie() })).toMatchObject({
      status: 400,
      code: "invalid_request",
      message: expect.stringContaining("more values"),
    });
  });

  it("is limited to the size of its procedures' inputs within a session", async () => {
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

it("a request that is no call is refused in JSON", async () => {
  for (const path of ["%", `${"models.list,".repeat(20)}models.list?batch=1`]) {
    const { status, code, headers } = await call(path, "{}");
    expect({ status, code, type: headers.get("content-type") }, path).toEqual({
      status: 400,
      code: "invalid_request",
      type: "application/json",
    });
  }
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

describe("credentials that do not exist", () => {
  /**
   * Makes calls with made-up credentials, twenty at a time, and counts those that are not refused. `minutes`: since `startMs` until the
   * last one was answered.
   */
  async function guess(
    calls: number,
    path: string,
    headers: () => Record<string, string>,
    startMs = performance.now(),
  ) {
    let passed = 0;
    let refused: Response | null = null;
    for (let sent = 0; sent < calls; sent += 20) {
      const answers = Array.from({ length: 20 }, () => fetch(service.baseUrl + path, { headers: headers() }));
      for (const answer of await Promise.all(answers)) {
        await answer.clone().arrayBuffer();
        if (answer.status === 429) refused = answer;
        else passed++;
      }
    }
    const endMs = performance.now();
    return { passed, refused, endMs, minutes: (endMs - startMs) / 60_000 };
  }

  it("are looked up 600 times a minute for each address; those that exist are not affected", async () => {
    const owner = await signUp(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
    const forged = () => ({ authorization: `Bearer ${mintSecretString(TOKEN_PREFIX)}` });
    const { passed, refused, minutes, endMs } = await guess(1_200, "/trpc/account.get", forged);
    expect(passed).toBeGreaterThanOrEqual(600);
    expect(passed).toBeLessThanOrEqual(600 * (1 + minutes));
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await answerOf(refused ?? Response.error())).toMatchObject({ code: "rate_limit_exceeded" });
    // REST and the audit log have the same limit. It may have been full for a moment before the last calls were answered.
    let sinceMs = endMs - 1_000;
    for (const path of ["/v1/keys", "/v1/audit"]) {
      const more = await guess(200, path, forged, sinceMs);
      expect(more.refused, path).not.toBeNull();
      expect(more.passed, path).toBeLessThanOrEqual(1 + 600 * more.minutes);
      sinceMs = more.endMs - 1_000;
    }
    // Sessions have one of their own.
    const session = () => ({ cookie: `ostiary_session=${crypto.randomUUID().replaceAll("-", "")}` });
    const sessions = await guess(1_200, "/dashboard/audit/export", session);
    expect(sessions.refused).not.toBeNull();
    expect(sessions.passed).toBeGreaterThanOrEqual(600);
    expect(sessions.passed).toBeLessThanOrEqual(600 * (1 + sessions.minutes));
    const authorization = { authorization: `Bearer ${token}` };
    expect((await fetch(`${service.baseUrl}/v1/keys`, { headers: authorization })).status).toBe(200);
    expect((await owner.trpc.account.get.query()).name).toBe("Test");
    expect((await (await signUp(service.baseUrl)).trpc.account.get.query()).name).toBe("Test");
  });
});

describe("the body of a call", () => {
  it("takes memory until the call is answered, and no longer", async () => {
    const email = "x".repeat(10_000);
    expect((await call("auth.signIn", { json: { email, password: "wrong" } })).status).toBe(400);
    const { trpc } = await signUp(service.baseUrl);
    await trpc.keys.create.mutate({ name: "one" });
    // Those of the calls before, which their clients have left, end a little later.
    await expect.poll(() => metricOf(service.baseUrl, "ostiary_request_body_bytes")).toBe(0);
  });
});

describe("the list of models, which is large in a large catalog", () => {
  it("is answered once in a request", async () => {
    const { trpc, cookie } = await signUp(service.baseUrl);
    const { key } = await trpc.keys.create.mutate({ name: "reader" });
    const ask = (names: string, headers: Readonly<Record<string, string>>) =>
      fetch(`${service.baseUrl}/trpc/${names}?batch=1`, { headers });
    for (const headers of [{ cookie: cookie() }, { authorization: `Bearer ${key}` }]) {
      for (const end of ["", "/", "//", "%2C"]) {
        const twice = await answerOf(await ask(`models.list,account.get,models.list${end}`, headers));
        expect(twice).toMatchObject({ status: 400, code: "invalid_request" });
        expect(twice.message).toContain("`models.list` once");
      }
      const once = await ask("models.list,account.get,account.get", headers);
      expect([once.status, (await once.json()).length]).toEqual([200, 3]);
    }
    expect((await trpc.audit.list.query()).entries.map(({ status }) => status)).toEqual([
      200, 400, 400, 400, 400,
    ]);
  });

  it("is made and encoded once for each catalog", () => {
    let made = 0;
    const list = cachedAnswer((models: readonly string[]) => ({ models, version: BigInt(++made) }));
    const [first, second] = [["one"], ["two"]];
    const encoded = answerText(list(first));
    expect(encoded).toBe(JSON.stringify(writeProcedureData({ models: ["one"], version: 1n })));
    expect(answerText(list(first))).toBe(encoded);
    expect(answerText(list(second))).toBe(
      JSON.stringify(writeProcedureData({ models: ["two"], version: 2n })),
    );
  });
});

describe("the answers of a batch", () => {
  it("are encoded in a turn of the event loop each, and stand in their places", async () => {
    const answers = new EncodedAnswers();
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    count();
    const turns: number[] = [];
    const answerOfTurn = (name: string) => ({
      get entries() {
        turns.push(turn);
        return [name, { at: new Date(0) }];
      },
    });
    const names = ["one", 'two"', "three"];
    const encoded = await Promise.all(names.map((name) => answers.encode(answerOfTurn(name))));
    isOver = true;
    expect(new Set(turns).size).toBe(3);
    const marks = encoded.map(({ mark }) => ({ result: { data: mark } })).reverse();
    const response = await answers.placedIn(Response.json(marks, { status: 207 }));
    const data = (name: string) => writeProcedureData({ entries: [name, { at: new Date(0) }] });
    expect(await response.json()).toEqual(names.map((name) => ({ result: { data: data(name) } })).reverse());
    expect(response.status).toBe(207);
  });
});

describe("procedure calls over the limit per minute", () => {
  it("of one user are refused, counting each call of a batch; other users are not affected", async () => {
    const [owner, other] = [await signUp(service.baseUrl), await signUp(service.baseUrl)];
    const before = await refusedCalls("caller");
    const { passed, refused, minutes } = await flood("account.get", 60, { cookie: owner.cookie() });
    expect(passed).toBeGreaterThanOrEqual(580);
    expect(passed).toBeLessThanOrEqual(600 * (1 + minutes));
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await answerOf(refused ?? Response.error())).toMatchObject({ code: "rate_limit_exceeded" });
    expect(await refusedCalls("caller")).toBe(before + 1_200 - passed);
    expect((await other.trpc.models.list.query()).models).not.toHaveLength(0);
  });

  it("of one key are refused, and leave audit entries", async () => {
    const owner = await signUp(service.baseUrl);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    const { passed, refused } = await flood("account.get", 60, { authorization: `Bearer ${key}` });
    expect(passed).toBeLessThan(1_200);
    expect(refused?.headers.get("x-request-id")).toMatch(/^req_/);
    const { entries } = await owner.trpc.audit.list.query({ limit: 100 });
    expect(entries).toHaveLength(60);
    const limited = entries.filter(({ errorCode }) => errorCode === "rate_limit_exceeded");
    expect(limited).toHaveLength(60 - passed / 20);
  });

  // The last test: nobody signs up from this address for as long as its calls are used up.
  it("to auth.* from one address are refused for every user", async () => {
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
