import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
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
  "more notes than any input has": {
    json: Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [at, null])),
    meta: { values: Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [at, [""]])) },
  },
  "a number of thousands of digits": {
    json: { email: "9".repeat(10_000) },
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

  it("that names a key as a field is refused without repeating it", async () => {
    const { key } = await owner.trpc.keys.create.mutate({ name: "pasted" });
    const answer = await call("auth.signIn", { json: { email, password: "x", [key]: 1 } });
    expect(answer).toMatchObject({ status: 400, code: "invalid_request" });
    expect(answer.message).not.toContain(key);
  });
});
