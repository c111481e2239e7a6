import { writeFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import {
  answerWhole,
  chunkOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
} from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { signUpWithKey, type Visitor } from "../fixtures/user.ts";

type Answer = (request: ReceivedRequest) => void;

let answers: Record<string, Answer> = {};
const servers: Record<string, ModelServer> = {};
let catalog: CatalogFile;
let service: Service;
let operator: Visitor;
let key: string;

const NAMES = ["one", "two", "narrow", "spare"];
/** As good as always in this order. */
const bothRoutes = [
  { upstream: "one", model: "inner", weight: 1_000_000 },
  { upstream: "two", model: "inner", weight: 0.000_001 },
];
const routesTo = (...names: string[]) => names.map((upstream) => ({ upstream, model: "inner" }));

beforeAll(async () => {
  for (const name of NAMES) {
    servers[name] = await startModelServer((request) =>
      (answers[name] ?? ((asked) => answerWhole(asked, `from ${name}`)))(request),
    );
  }
  const upstream = (name: string, more: object = {}) => ({
    dialect: "openai",
    baseUrl: servers[name]?.baseUrl,
    timeouts: { firstByteMs: 1_000, idleMs: 1_000 },
    breaker: { failures: 3, openMs: 300 },
    ...more,
  });
  catalog = await writeCatalog({
    upstreams: {
      one: upstream("one"),
      two: upstream("two"),
      narrow: upstream("narrow", { maxConcurrency: 2, breaker: { failures: 100 }, timeouts: {} }),
      spare: upstream("spare"),
      slow: upstream("one", { timeouts: {} }),
    },
    models: [
      { id: "acme/one", routes: routesTo("one") },
      { id: "acme/two", routes: routesTo("two") },
      { id: "acme/slow", routes: routesTo("slow") },
      { id: "acme/both", routes: bothRoutes },
      // One for each trouble: second attempts at one model are but a share of the first.
      ...Object.keys(troubles).map((_, index) => ({ id: `acme/trouble-${index}`, routes: bothRoutes })),
      { id: "acme/narrow", routes: routesTo("narrow") },
      {
        id: "acme/narrow-or-spare",
        routes: [
          { upstream: "narrow", model: "inner", weight: 1_000_000 },
          { upstream: "spare", model: "inner", weight: 0.000_001 },
        ],
      },
      {
        id: "acme/weighed",
        routes: [
          { upstream: "two", model: "inner", weight: 3 },
          { upstream: "spare", model: "inner", weight: 1 },
        ],
      },
    ],
  });
  service = await startOperatedService({ env: { OSTIARY_CATALOG: catalog.file, OSTIARY_LOG: "silent" } });
  operator = await signInOperator(service.baseUrl);
  key = (await signUpWithKey(service.baseUrl)).key;
});

afterEach(async () => {
  answers = {};
  // No test finds an upstream that another one has made fail.
  for (const name of ["one", "two"]) {
    await expect.poll(async () => (await chat(`acme/${name}`)).status).toBe(200);
  }
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]();
});

function chat(model: string, fields: object = {}): Promise<Response> {
  return fetch(`${service.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], ...fields }),
  });
}

async function contentOf(response: Response): Promise<string> {
  return (await response.json()).choices[0].message.content;
}

const failing =
  (status: number): Answer =>
  ({ response }) =>
    void response.writeHead(status, { "content-type": "application/json" }).end("{}");

async function healthOf(name: string) {
  const { upstreams } = await operator.trpc.operator.upstreams.query();
  const health = upstreams.find((upstream) => upstream.name === name);
  if (health === undefined) throw new Error(`there is no upstream ${name}`);
  return health;
}

const troubles: Record<string, Answer> = {
  "answers 500": failing(500),
  "answers 503": failing(503),
  "answers 429": failing(429),
  "refuses our credential": failing(401),
  "has no such model": failing(404),
  redirects: ({ response }) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
  hangs: () => {},
  "breaks off": ({ response }) => void response.destroy(),
  "answers nonsense": ({ response }) => void response.end("<html>"),
  "answers a malformed chunk": ({ response }) =>
    void response.setHeader("content-type", "text/event-stream").end("data: {nonsense\n\n"),
  "ends a stream that never began": ({ response }) =>
    void response.setHeader("content-type", "text/event-stream").end(),
  "answers far too much": ({ response }) => {
    response.setHeader("content-type", "application/json");
    const megabyte = Buffer.alloc(1024 * 1024, "x");
    const write = (left: number) => {
      if (left > 0 && !response.destroyed) response.write(megabyte, () => write(left - 1));
      else response.end();
    };
    write(66);
  },
  "begins a stream with an event without end": ({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    const megabyte = Buffer.alloc(1024 * 1024, "x");
    const write = (left: number) => {
      if (left > 0 && !response.destroyed) response.write(megabyte, () => write(left - 1));
    };
    response.write("data: ", () => write(20));
  },
  "stalls before the first chunk": ({ response }) => {
    response.setHeader("content-type", "text/event-stream");
    response.flushHeaders();
  },
};

describe("a model with two routes", () => {
  for (const [index, [what, trouble]] of Object.entries(troubles).entries()) {
    it(`is answered by the other when the first ${what}`, async () => {
      answers.one = trouble;
      const isStream = what.includes("stream") || what.includes("chunk");
      answers.two = isStream
        ? ({ response }) => {
            response.setHeader("content-type", "text/event-stream");
            response.end(`${chunkOf({ content: "from two" })}${chunkOf({}, "stop")}data: [DONE]\n\n`);
          }
        : (request) => answerWhole(request, "from two");
      const response = await chat(`acme/trouble-${index}`, { stream: isStream });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain("from two");
    });
  }

  it("is not asked of the other for what is the request's own fault", async () => {
    answers.one = failing(400);
    const before = servers.two?.received.length;
    expect((await chat("acme/both")).status).toBe(400);
    expect(servers.two?.received.length).toBe(before);
  });

  it("is not asked of the other once something has reached the client", async () => {
    answers.one = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "so far" }), () => response.destroy());
    };
    const before = servers.two?.received.length;
    const text = await (await chat("acme/both", { stream: true })).text();
    expect(text).toContain("so far");
    expect(text).toContain('"code":"upstream_error"');
    expect(text).not.toContain("[DONE]");
    expect(servers.two?.received.length).toBe(before);
  });

  it("sends requests by the routes' weights", async () => {
    const before = servers.spare?.received.length ?? 0;
    for (let number = 0; number < 200; number++) await (await chat("acme/weighed")).arrayBuffer();
    const share = ((servers.spare?.received.length ?? 0) - before) / 200;
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.4);
  });
});

describe("an upstream that dribbles", () => {
  it("is read as any other, byte by byte", async () => {
    const text = `${chunkOf({ role: "assistant", content: "grüße" })}: comment\r\n\r\n${chunkOf({ content: " 字" })}${chunkOf({}, "stop")}data: [DONE]\n\n`;
    answers.one = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      const bytes = Buffer.from(text);
      const write = (at: number) => {
        if (at === bytes.length) response.end();
        else response.write(bytes.subarray(at, at + 1), () => setImmediate(write, at + 1));
      };
      write(0);
    };
    const answer = await (await chat("acme/one", { stream: true })).text();
    expect(answer).toContain("grüße");
    expect(answer).toContain(" 字");
    expect(answer.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});

describe("an upstream that keeps failing", () => {
  it("is left alone, tried again by one request, and asked as before when it is well", async () => {
    answers.one = failing(500);
    for (let number = 0; number < 3; number++) expect((await chat("acme/one")).status).toBe(502);
    expect((await healthOf("one")).breaker).toBe("open");
    const before = servers.one?.received.length ?? 0;
    const refused = await chat("acme/one");
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(servers.one?.received.length).toBe(before);

    const waiting: ReceivedRequest[] = [];
    answers.one = (request) => waiting.push(request);
    await expect.poll(async () => (await healthOf("one")).breaker).toBe("half-open");
    const probe = chat("acme/one");
    await expect.poll(() => waiting.length).toBe(1);
    expect((await chat("acme/one")).status).toBe(503);
    for (const request of waiting) answerWhole(request);
    expect((await probe).status).toBe(200);
    expect((await healthOf("one")).breaker).toBe("closed");
  });

  it("does not make requests wait for it that another can answer", async () => {
    answers.one = failing(500);
    for (let number = 0; number < 3; number++) expect((await chat("acme/one")).status).toBe(502);
    const before = servers.one?.received.length ?? 0;
    for (let number = 0; number < 5; number++)
      expect(await contentOf(await chat("acme/both"))).toBe("from two");
    expect(servers.one?.received.length).toBe(before);
  });

  it("is noticed also when it only ever breaks off its answers", async () => {
    answers.one = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "so far" }), () => response.destroy());
    };
    for (let number = 0; number < 3; number++) await (await chat("acme/one", { stream: true })).text();
    expect((await healthOf("one")).breaker).toBe("open");
  });

  it("is told to the operator when it is our credential that it refuses", async () => {
    answers.one = failing(401);
    expect((await chat("acme/one")).status).toBe(502);
    expect((await healthOf("one")).credentialRefusedAt).toBeInstanceOf(Date);
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    expect(metrics).toContain('ostiary_upstream_credential_refused{upstream="one"} 1');
    answers = {};
    expect((await chat("acme/one")).status).toBe(200);
    expect((await healthOf("one")).credentialRefusedAt).toBeNull();
  });
});

describe("an upstream with few places", () => {
  it("gets no more at once, the others wait a moment, and who has waited is answered", async () => {
    const waiting: ReceivedRequest[] = [];
    answers.narrow = (request) => waiting.push(request);
    const asked = Array.from({ length: 6 }, () => chat("acme/narrow"));
    await expect.poll(async () => (await healthOf("narrow")).waiting).toBe(4);
    await expect.poll(() => waiting.length).toBe(2);
    expect(await healthOf("narrow")).toMatchObject({ inFlight: 2, waiting: 4 });
    answers.narrow = (request) => answerWhole(request);
    for (const request of waiting) answerWhole(request);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(6).fill(200));
    await expect.poll(async () => (await healthOf("narrow")).inFlight).toBe(0);
  });

  it("gives way at once to another route, and is 503 when nobody has gone in time", async () => {
    const waiting: ReceivedRequest[] = [];
    answers.narrow = (request) => waiting.push(request);
    const held = [chat("acme/narrow"), chat("acme/narrow")];
    await expect.poll(() => waiting.length).toBe(2);
    expect(await contentOf(await chat("acme/narrow-or-spare"))).toBe("from spare");
    const late = await chat("acme/narrow");
    expect(late.status).toBe(503);
    expect(late.headers.get("retry-after")).toBe("1");
    for (const request of waiting) answerWhole(request);
    await Promise.all(held);
  });

  it("lets what it has no place for overflow to another route, all of it", async () => {
    const waiting: ReceivedRequest[] = [];
    answers.narrow = (request) => waiting.push(request);
    const held = [chat("acme/narrow"), chat("acme/narrow")];
    await expect.poll(() => waiting.length).toBe(2);
    const overflowing = await Promise.all(Array.from({ length: 40 }, () => chat("acme/narrow-or-spare")));
    expect(overflowing.map(({ status }) => status)).toEqual(Array(40).fill(200));
    for (const request of waiting) answerWhole(request);
    await Promise.all(held);
  });

  it("has its places back from clients that leave, and from streams that are left", async () => {
    answers.narrow = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ content: "first" }));
    };
    for (let round = 0; round < 3; round++) {
      const response = await chat("acme/narrow", { stream: true });
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
    }
    for (let round = 0; round < 3; round++) {
      const leaving = new AbortController();
      const asked = fetch(`${service.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "acme/narrow",
          messages: [{ role: "user", content: "hi" }],
          stream: true,
        }),
        signal: leaving.signal,
      });
      await (await asked).body?.getReader().read();
      leaving.abort();
    }
    answers.narrow = (request) => answerWhole(request);
    await expect.poll(async () => (await chat("acme/narrow")).status).toBe(200);
  });
});

describe("a stream whose upstream is silent", () => {
  it("is given signs of life, before its first word and between words, and breaks off as events", async () => {
    answers.narrow = ({ body, response }) => {
      response.setHeader("content-type", "text/event-stream");
      const isBetween = JSON.stringify(body).includes("between");
      if (isBetween) response.write(chunkOf({ content: "first" }));
      else response.flushHeaders();
    };
    const open = (content: string) =>
      chat("acme/narrow", { stream: true, messages: [{ role: "user", content }] });
    const untilSign = async (content: string) => {
      const response = await open(content);
      expect(response.status).toBe(200);
      let text = "";
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        if (text.includes(": waiting\n\n")) break;
      }
      return text;
    };
    // What goes wrong after a sign of life is told as what it is.
    answers.one = ({ response }) =>
      void setTimeout(() => failing(400)({ response } as ReceivedRequest), 15_500);
    const refused = chat("acme/slow", { stream: true }).then((response) => response.text());
    const [before, between] = await Promise.all([untilSign("before"), untilSign("between")]);
    expect(await refused).toContain('"code":"invalid_request"');
    expect(before).toBe(": waiting\n\n");
    expect(between).toContain("first");
  });
});

describe("the catalog file", () => {
  it("is read anew when it changes, and stays as it was when the change is wrong", async () => {
    await using file = await writeCatalog({
      upstreams: { one: { dialect: "openai", baseUrl: servers.one?.baseUrl } },
      models: [{ id: "acme/old", routes: routesTo("one") }],
    });
    await using own = await startOperatedService({
      env: { OSTIARY_CATALOG: file.file, OSTIARY_LOG: "info" },
    });
    const owner = await signUpWithKey(own.baseUrl);
    const models = async () => {
      const response = await fetch(`${own.baseUrl}/v1/models`, {
        headers: { authorization: `Bearer ${owner.key}` },
      });
      return (await response.json()).data as { id: string; created: number }[];
    };
    const [old] = await models();
    const next = {
      upstreams: { one: { dialect: "openai", baseUrl: servers.one?.baseUrl } },
      models: [
        { id: "acme/old", routes: routesTo("one") },
        {
          id: "acme/new",
          aliases: ["new"],
          prices: { inputUsdPerMTok: 1, outputUsdPerMTok: 2, imageUsd: "0.01" },
          routes: routesTo("one"),
        },
      ],
    };
    await writeFile(file.file, JSON.stringify(next));
    await expect.poll(async () => (await models()).map(({ id }) => id)).toEqual(["acme/old", "acme/new"]);
    expect((await models())[0]?.created).toBe(old?.created);
    expect((await models())[1]).toMatchObject({ pricing: { image_usd: "0.01" } });

    await writeFile(
      file.file,
      JSON.stringify({ ...next, models: [{ id: "acme/old", routes: routesTo("nowhere") }] }),
    );
    await expect.poll(() => own.stderr()).toContain("models[0].routes[0].upstream");
    expect((await models()).map(({ id }) => id)).toEqual(["acme/old", "acme/new"]);
    await writeFile(file.file, "{ nonsense");
    await expect.poll(() => own.stderr().match(/the catalog file has errors/g)?.length).toBe(2);
    await writeFile(file.file, "upstreams: *nobody\nmodels: []");
    await expect.poll(() => own.stderr().match(/the catalog file has errors/g)?.length).toBe(3);
    process.kill(own.pid, "SIGHUP");
    await writeFile(file.file, JSON.stringify({ ...next, models: next.models.slice(1) }));
    process.kill(own.pid, "SIGHUP");
    await expect.poll(async () => (await models()).map(({ id }) => id)).toEqual(["acme/new"]);
  });
});
