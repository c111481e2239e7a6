import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UNKNOWN_MODEL } from "../../sdk/src/contract/audit-enums.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { answerWhole, chunkOf, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { refusalOf } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

let upstream: ModelServer;
let folder: string;
let service: Service;

beforeAll(async () => {
  upstream = await startModelServer((request) => {
    if (request.body.stream !== true) return answerWhole(request);
    request.response.setHeader("content-type", "text/event-stream").write(chunkOf({ content: "and" }));
    setImmediate(() => request.response.destroy());
  });
  folder = await mkdtemp(join(tmpdir(), "ostiary-catalog-"));
  const catalog = join(folder, "catalog.yaml");
  await writeFile(
    catalog,
    `
upstreams:
  main: { dialect: openai, baseUrl: "${upstream.baseUrl}" }
models:
  - id: acme/chat
    prices: { inputUsdPerMTok: "2.50", outputUsdPerMTok: 10 }
    routes: [{ upstream: main, model: inner }]
  - id: acme/free
    routes: [{ upstream: main, model: inner }]
`,
  );
  service = await startService({ env: { OSTIARY_CATALOG: catalog } });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function chat(key: string, model: string, more: object = {}): Promise<void> {
  const response = await sendChat(service.baseUrl, key, { model, ...more });
  await response.arrayBuffer();
}

/** A stream that its model breaks off. */
async function brokenOff(key: string): Promise<void> {
  await chat(key, "acme/free", { stream: true }).catch(() => {});
}

const HOUR_MS = 60 * 60_000;
const now = Date.now();
const today = { from: new Date(now - 26 * HOUR_MS), to: new Date(now + 26 * HOUR_MS) };

/** The sum of an account's entries, by adding them up. */
async function sumOfEntries({ trpc }: Owner) {
  const { entries } = await trpc.audit.list.query({ limit: 1_000 });
  const sum = (of: (entry: (typeof entries)[number]) => number) =>
    entries.reduce((all, entry) => all + of(entry), 0);
  return {
    requests: entries.length,
    errors: sum(({ status, errorCode }) => (status >= 400 || errorCode !== null ? 1 : 0)),
    promptTokens: sum(({ promptTokens }) => promptTokens ?? 0),
    completionTokens: sum(({ completionTokens }) => completionTokens ?? 0),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens ?? 0),
    costNanoUsd: entries.reduce((all, { costNanoUsd }) => all + costNanoUsd, 0n),
  };
}

describe("the summary of usage", () => {
  it("is the sum of the entries, by any interval and group", async () => {
    const owner = await signUp(service.baseUrl);
    const production = await owner.trpc.keys.create.mutate({ name: "production" });
    const staging = await owner.trpc.keys.create.mutate({ name: "staging" });
    // A few at once: a loaded machine refuses some of many.
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        ...Array.from({ length: 3 }, () => chat(production.key, "acme/chat")),
        chat(staging.key, "acme/free"),
        ...(round < 5 ? [chat(staging.key, "no/such/model")] : []),
      ]);
    }
    await fetch(`${service.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${staging.key}` } });
    await brokenOff(staging.key);
    const expected = await sumOfEntries(owner);
    expect(expected).toMatchObject({
      requests: 47,
      errors: 6,
      promptTokens: expect.closeTo(40_000, -2),
      completionTokens: expect.closeTo(8_000, -2),
    });
    // 1,000 tokens at 2.50 and 200 at 10 USD a million.
    expect(expected.costNanoUsd).toBe(30n * 4_500_000n);

    for (const interval of ["hour", "day", "month"] as const) {
      const wide = { ...today, to: new Date(now + 40 * 24 * HOUR_MS), interval };
      const range = interval === "month" ? wide : { ...today, interval };
      for (const groupBy of ["none", "model", "key"] as const) {
        const { total, rows } = await owner.trpc.usage.summary.query({ ...range, groupBy });
        expect(total, `${interval} by ${groupBy}`).toEqual(expected);
        expect(rows.every(({ start }) => start.getUTCMinutes() === 0)).toBe(true);
      }
    }
    const byModel = await owner.trpc.usage.summary.query({ ...today, interval: "day", groupBy: "model" });
    const requests = new Map<string | null, number>();
    for (const row of byModel.rows) requests.set(row.model, (requests.get(row.model) ?? 0) + row.requests);
    expect(Object.fromEntries(requests)).toEqual({
      "": 1,
      "acme/chat": 30,
      "acme/free": 11,
      [UNKNOWN_MODEL]: 5,
    });
    const byKey = await owner.trpc.usage.summary.query({ ...today, interval: "day", groupBy: "key" });
    expect(new Set(byKey.rows.map((row) => row.key?.name))).toEqual(new Set(["production", "staging"]));
  });

  it("has rows for a limited number of models and keys, and one for all others", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const key = await owner.trpc.keys.create.mutate({ name: "many" });
    await using sql = await openDatabaseOf(service);
    await sql`
      insert into usage_hours
      select ${id}::uuid, hour, ${key.id}::uuid, 'model-' || n, 1, 0, 2, 3, 0, n
      from generate_series(1, 300) n,
           generate_series(date_trunc('hour', now(), 'UTC') - interval '29 days', now(), interval '1 hour') hour`;
    const span = {
      from: new Date(now - 30 * 24 * HOUR_MS),
      to: new Date(now + HOUR_MS),
      interval: "hour",
    } as const;
    const { rows, total } = await owner.trpc.usage.summary.query({ ...span, groupBy: "model" });
    const hours = new Set(rows.map(({ start }) => start.getTime())).size;
    expect(hours).toBe(29 * 24 + 1);
    expect(rows.length).toBeLessThanOrEqual(10_000 + hours);
    const named = new Set(rows.flatMap(({ model }) => (model === null ? [] : [model])));
    // Those that cost most.
    expect(named).toEqual(new Set(Array.from({ length: named.size }, (_, at) => `model-${300 - at}`)));
    expect(named.size).toBeGreaterThanOrEqual(10);
    expect(rows.filter(({ isOther }) => isOther)).toHaveLength(hours);
    expect(
      rows.filter(({ isOther }) => isOther).every(({ model, key }) => model === null && key === null),
    ).toBe(true);
    expect(total).toMatchObject({ requests: 300 * hours, completionTokens: 900 * hours });
    const short = { ...span, from: new Date(now - 5 * HOUR_MS) };
    const short200 = await owner.trpc.usage.summary.query({ ...short, groupBy: "model" });
    expect(new Set(short200.rows.map(({ model }) => model)).size).toBe(201);
    for (const groupBy of ["none", "key"] as const) {
      const whole = await owner.trpc.usage.summary.query({ ...span, groupBy });
      expect(whole.rows).toHaveLength(hours);
      expect(whole.rows.some(({ isOther }) => isOther)).toBe(false);
      expect(whole.total).toEqual(total);
    }
  });

  it("contains the account's own requests only, and can be read with a key", async () => {
    const stranger = await signUp(service.baseUrl);
    const { rows } = await stranger.trpc.usage.summary.query({ ...today, interval: "day" });
    expect(rows).toEqual([]);
  });

  it("refuses invalid queries", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const ask = (from: Date, to: Date, interval: "hour" | "day" = "hour") =>
      refusalOf(trpc.usage.summary.query({ from, to, interval }));
    expect((await ask(today.to, today.from)).code).toBe("invalid_request");
    expect((await ask(new Date(0), today.to)).code).toBe("invalid_request");
    expect((await ask(new Date(Number.NaN), today.to)).code).toBe("invalid_request");
    expect((await ask(new Date(8.64e15), new Date(8.64e15), "day")).code).toBe("invalid_request");
    expect((await ask(new Date(-8.64e15), new Date(-8.64e15 + HOUR_MS), "day")).status).toBeLessThan(500);
  });
});

describe("usage in a time zone", () => {
  /** One request in each hour of UTC, which costs the hour's number. */
  async function ownerOfHours(from: string, hours: number): Promise<Owner> {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const key = await owner.trpc.keys.create.mutate({ name: "hourly" });
    await using sql = await openDatabaseOf(service);
    await sql`
      insert into usage_hours
      select ${id}::uuid, ${new Date(from)} + n * interval '1 hour', ${key.id}::uuid, 'acme/chat', 1, 0, 2, 3, 0, n
      from generate_series(0, ${hours}::int - 1) n`;
    return owner;
  }

  it("has days as long as the clock's, which begin at its midnight", async () => {
    // Clocks in Berlin were put forward on 29 March 2026, at 01:00 UTC.
    const owner = await ownerOfHours("2026-03-27T00:00Z", 4 * 24);
    const { rows, total } = await owner.trpc.usage.summary.query({
      from: "2026-03-28",
      to: "2026-03-29",
      interval: "day",
      timeZone: "Europe/Berlin",
    });
    expect(rows.map(({ start, requests }) => [start.toISOString(), requests])).toEqual([
      ["2026-03-27T23:00:00.000Z", 24],
      ["2026-03-28T23:00:00.000Z", 23],
    ]);
    expect(total.requests).toBe(47);
    const byHour = await owner.trpc.usage.summary.query({
      from: "2026-03-28",
      to: "2026-03-29",
      interval: "hour",
      timeZone: "Europe/Berlin",
    });
    expect(byHour.rows).toHaveLength(47);
    expect(byHour.total).toEqual(total);
    const month = await owner.trpc.usage.summary.query({
      from: "2026-03-28",
      to: "2026-03-29",
      interval: "month",
      timeZone: "Europe/Berlin",
    });
    expect(month.rows.map(({ start, requests }) => [start.toISOString(), requests])).toEqual([
      ["2026-02-28T23:00:00.000Z", 96],
    ]);
  });

  it("counts each hour once, also where midnight is within one", async () => {
    const owner = await ownerOfHours("2026-03-01T00:00Z", 5 * 24);
    for (const timeZone of ["Asia/Kolkata", "Asia/Kathmandu", "America/New_York", "Pacific/Apia"]) {
      const { rows, total } = await owner.trpc.usage.summary.query({
        from: "2026-02-25",
        to: "2026-03-10",
        interval: "day",
        timeZone,
        groupBy: "model",
      });
      expect([total.requests, total.costNanoUsd], timeZone).toEqual([120, 7_140n]);
      for (const { start } of rows) expect(start.getTime() % HOUR_MS).toBe(0);
    }
    const { rows } = await owner.trpc.usage.summary.query({
      from: "2026-03-02",
      to: "2026-03-02",
      interval: "day",
      timeZone: "Asia/Kolkata",
    });
    // From 18:30 UTC on, counted from the next hour.
    expect(rows.map(({ start, requests }) => [start.toISOString(), requests])).toEqual([
      ["2026-03-01T19:00:00.000Z", 24],
    ]);
  });

  it("sums up to what the ledger charges", async () => {
    const owner = await signUp(service.baseUrl);
    const key = await owner.trpc.keys.create.mutate({ name: "paid" });
    for (let number = 0; number < 5; number++) await chat(key.key, "acme/chat");
    const { trpc } = owner;
    const charged = async () => {
      const { entries } = await trpc.credits.ledger.query();
      return entries.reduce(
        (sum, { kind, amountNanoUsd }) => (kind === "charge" ? sum - amountNanoUsd : sum),
        0n,
      );
    };
    const costs = async (timeZone: string, interval: "hour" | "day" | "month") =>
      (await trpc.usage.summary.query({ ...today, interval, timeZone })).total.costNanoUsd;
    await trpc.usage.summary.query({ ...today, interval: "day" });
    await expect.poll(charged).toBe(5n * 4_500_000n);
    for (const timeZone of ["UTC", "Asia/Kolkata", "America/Los_Angeles"]) {
      for (const interval of ["hour", "day", "month"] as const) {
        expect(await costs(timeZone, interval), `${timeZone} by ${interval}`).toBe(await charged());
      }
    }
    const performance = await trpc.usage.performance.query({
      ...today,
      interval: "day",
      timeZone: "Asia/Kolkata",
    });
    expect(performance.intervals.reduce((sum, { requests }) => sum + requests, 0)).toBe(5);
  });

  it("refuses what is no zone, and years of another zone than UTC", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const ask = (timeZone: string, from = today.from) =>
      refusalOf(trpc.usage.summary.query({ from, to: today.to, interval: "day", timeZone }));
    for (const timeZone of ["", "Mars/Olympus", "+02:00", "UTC'; drop table keys"]) {
      expect((await ask(timeZone)).code, timeZone).toBe("invalid_request");
    }
    const longAgo = new Date(now - 400 * 24 * HOUR_MS);
    expect((await ask("Europe/Berlin", longAgo)).code).toBe("invalid_request");
    const { rows } = await trpc.usage.summary.query({
      from: longAgo,
      to: today.to,
      interval: "day",
      timeZone: "UTC",
    });
    expect(rows).toEqual([]);
  });
});

describe("performance", () => {
  it("has the percentiles of the entries' times by interval and upstream, and the filters of the summary", async () => {
    const owner = await signUp(service.baseUrl);
    const first = await owner.trpc.keys.create.mutate({ name: "first" });
    const second = await owner.trpc.keys.create.mutate({ name: "second" });
    for (const model of ["acme/chat", "acme/chat", "acme/free", "no/such"]) await chat(first.key, model);
    await chat(second.key, "acme/free");
    const { entries } = await owner.trpc.audit.list.query();
    const served = entries.filter(({ upstream }) => upstream !== null).map(({ latencyMs }) => latencyMs);
    const sorted = served.toSorted((one, other) => one - other);
    const question = { ...today, interval: "month" } as const;
    const { intervals, upstreams, measuredSince } = await owner.trpc.usage.performance.query(question);
    expect(measuredSince).toBeNull();
    expect(intervals.reduce((sum, { requests }) => sum + requests, 0)).toBe(4);
    expect(upstreams).toEqual([
      {
        upstream: "main",
        requests: 4,
        errors: 0,
        // Half of the requests took at most that long.
        latencyMs: { p50: sorted[1], p95: sorted[3] },
        timeToFirstTokenMs: {
          p50: expect.toBeOneOf([null, expect.any(Number)]),
          p95: expect.toBeOneOf([null, expect.any(Number)]),
        },
      },
    ]);
    const ofKey = await owner.trpc.usage.performance.query({ ...question, key: second.id });
    expect(ofKey.upstreams.map(({ requests }) => requests)).toEqual([1]);
    const ofModel = await owner.trpc.usage.performance.query({ ...question, model: "acme/free" });
    expect(ofModel.upstreams.map(({ requests }) => requests)).toEqual([2]);
    const { total } = await owner.trpc.usage.summary.query({
      ...question,
      key: first.id,
      model: "acme/chat",
    });
    expect(total.requests).toBe(2);
    const stranger = await signUp(service.baseUrl);
    const foreign = await stranger.trpc.usage.performance.query({ ...question, key: first.id });
    expect(foreign).toEqual({ intervals: [], upstreams: [], measuredSince: null });
    expect((await refusalOf(owner.trpc.usage.performance.query({ ...question, key: "x" }))).code).toBe(
      "invalid_request",
    );
  });
});
