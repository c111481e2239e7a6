import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { refusalOf } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import { sendRest } from "../fixtures/rest.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

let service: Service;
let owner: Owner;
let headers: Record<string, string>;
/** The day on which the account's requests were made, in UTC. */
let today: string;

const DAY_MS = 24 * 60 * 60_000;
const REQUESTS = 3;

beforeAll(async () => {
  service = await startService();
  owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "used" });
  headers = { authorization: `Bearer ${key}` };
  for (let request = 0; request < REQUESTS; request++) await statusOf(service.baseUrl, key);
  const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
  today = dayOf(entries[0]?.timestamp ?? new Date());
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

function dayOf(time: Date, days = 0): string {
  return new Date(time.getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

/** The number of entries of requests for models that an operation on the log returns. */
async function countOf(path: "/v1/audit" | "/v1/audit/export", query: string): Promise<number> {
  const filters = "source=127.0.0.1&status=200";
  const response = await fetch(`${service.baseUrl}${path}?${filters}&${query}`, { headers });
  expect(response.status, query).toBe(200);
  const text = await response.text();
  const entries: { endpoint: string }[] =
    path === "/v1/audit"
      ? JSON.parse(text).data
      : text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  return entries.filter(({ endpoint }) => endpoint === "GET /v1/models").length;
}

describe("a summary of usage", () => {
  it("up to now includes the present hour, day and month", async () => {
    for (const interval of ["hour", "day", "month"] as const) {
      const from = new Date(Date.now() - DAY_MS);
      const { total } = await owner.trpc.usage.summary.query({ from, to: new Date(), interval });
      expect(total.requests, interval).toBeGreaterThanOrEqual(REQUESTS);
    }
  });

  it("has each day once where clocks are put back past midnight", async () => {
    await using sql = await openDatabaseOf(service);
    const { id } = await owner.trpc.account.get.query();
    const { id: key } = await owner.trpc.keys.create.mutate({ name: "in Newfoundland" });
    await sql`
      insert into usage_hours
      select ${id}::uuid, hour, ${key}::uuid, 'm', 1, 0, 0, 0, 0, 0
      from generate_series(timestamptz '2006-10-28 00:00Z', timestamptz '2006-10-31 00:00Z', interval '1 hour') hour`;
    const query = "from=2006-10-28&to=2006-10-29&interval=day&time_zone=America/St_Johns";
    const answer = await fetch(`${service.baseUrl}/v1/usage?${query}`, {
      headers,
      signal: AbortSignal.timeout(10_000),
    });
    const { rows } = await answer.json();
    expect(rows.map(({ start, requests }: { start: string; requests: number }) => [start, requests])).toEqual(
      [
        ["2006-10-28T03:00:00.000Z", 25],
        ["2006-10-29T04:00:00.000Z", 24],
      ],
    );
  });

  it("includes whole intervals, and none that begins at the end of the period", async () => {
    const { id } = await owner.trpc.account.get.query();
    const { id: key } = await owner.trpc.keys.create.mutate({ name: "earlier" });
    await using sql = await openDatabaseOf(service);
    await sql`
      insert into usage_days
      select ${id}::uuid, day, ${key}::uuid, 'm', 1, 0, 0, 0, 0, 0
      from generate_series(timestamptz '2020-01-01Z', timestamptz '2020-12-31Z', interval '1 day') day`;
    const requests = async (from: Date | string, to: Date | string, interval: "day" | "month") =>
      (await owner.trpc.usage.summary.query({ from, to, interval })).total.requests;
    expect(await requests("2020-03-05", "2020-03-05", "day")).toBe(1);
    expect(await requests("2020-03-05", "2020-03-06", "day")).toBe(2);
    expect(await requests("2020-03-05T00:00:00Z", "2020-03-06T00:00:00Z", "day")).toBe(1);
    expect(await requests("2020-03-05T23:59:59Z", "2020-03-06T00:00:01Z", "day")).toBe(2);
    expect(await requests(new Date("2020-03-05"), new Date("2020-03-06"), "day")).toBe(1);
    expect(await requests("2020-03-05T23:00:00-05:00", "2020-03-06T10:00:00+02:00", "day")).toBe(1);
    expect(await requests("2020-02-29", "2020-02-29", "month")).toBe(29);
    expect(await requests("2020-02-01", "2020-02-29", "month")).toBe(29);
    expect(await requests("2020-02-01", new Date("2020-03-01"), "month")).toBe(29);
    expect(await requests("2020-12-31", "2020-12-31", "month")).toBe(31);
  });

  it("refuses an empty period and dates that do not exist", async () => {
    const refusal = (from: Date | string, to: Date | string) =>
      refusalOf(owner.trpc.usage.summary.query({ from, to, interval: "day" }));
    const wrong = [
      ["2020-03-06", "2020-03-05"],
      ["2020-02-30", "2020-03-05"],
      ["2020-3-5", "2020-03-06"],
      ["today", "2020-03-06"],
      ["0000-01-01", "2020-03-06"],
      ["9999-12-31", "9999-12-31"],
      ["2020-03-05T00:00:00", "2020-03-06"],
    ] as const;
    for (const [from, to] of wrong) expect((await refusal(from, to)).code, from).toBe("invalid_request");
  });
});

describe("usage in a time zone, over REST", () => {
  beforeAll(async () => {
    const { id } = await owner.trpc.account.get.query();
    await using sql = await openDatabaseOf(service);
    // A request in each hour around the days on which Berlin's clocks are put forward, and back.
    for (const [from, to] of [
      ["2025-03-28T00:00Z", "2025-04-02T00:00Z"],
      ["2025-10-24T00:00Z", "2025-10-29T00:00Z"],
    ] as const) {
      await sql`
        insert into usage_hours
        select ${id}::uuid, hour, gen_random_uuid(), 'm', 1, 0, 0, 0, 0, 0
        from generate_series(${from}::timestamptz, ${to}::timestamptz, interval '1 hour') hour`;
      await sql`
        insert into usage_days
        select account_id, date_trunc('day', hour, 'UTC'), gen_random_uuid(), 'm', count(*), 0, 0, 0, 0, 0
        from usage_hours where account_id = ${id}::uuid and hour >= ${from}::timestamptz and hour < ${to}::timestamptz
        group by 1, 2`;
    }
  });

  interface Interval {
    readonly start: string;
    readonly requests: number;
  }

  async function usageOf(query: string): Promise<[start: string, requests: number][]> {
    const { status, body } = await sendRest(service.baseUrl, "GET", `/v1/usage?${query}`, { headers });
    expect(status, JSON.stringify(body)).toBe(200);
    return body.rows.map(({ start, requests }: Interval) => [start, requests]);
  }

  it("has days that begin at its midnight, of 23 hours and of 25 when clocks change", async () => {
    const zone = "interval=day&time_zone=Europe/Berlin";
    expect(await usageOf(`from=2025-03-29&to=2025-03-31&${zone}`)).toEqual([
      ["2025-03-28T23:00:00.000Z", 24],
      ["2025-03-29T23:00:00.000Z", 23],
      ["2025-03-30T22:00:00.000Z", 24],
    ]);
    expect(await usageOf(`from=2025-10-25&to=2025-10-27&${zone}`)).toEqual([
      ["2025-10-24T22:00:00.000Z", 24],
      ["2025-10-25T22:00:00.000Z", 25],
      ["2025-10-26T23:00:00.000Z", 24],
    ]);
    // Times say their own zone, and are rounded to its days.
    expect(await usageOf(`from=2025-03-30T00:30:00Z&to=2025-03-30T01:30:00Z&${zone}`)).toEqual([
      ["2025-03-29T23:00:00.000Z", 23],
    ]);
    // The same days are others in UTC, which is the default.
    expect(await usageOf("from=2025-03-29&to=2025-03-31&interval=day")).toEqual([
      ["2025-03-29T00:00:00.000Z", 24],
      ["2025-03-30T00:00:00.000Z", 24],
      ["2025-03-31T00:00:00.000Z", 24],
    ]);
  });

  it("is refused by the parameter's name where the zone is unknown, or the period too long for one", async () => {
    const year = "from=2023-01-01&to=2025-03-31&interval=month&time_zone=Europe/Berlin";
    const short = "from=2025-03-29&to=2025-03-31&interval=day";
    const unknown = ["Mars/Olympus", "%2B02:00", "", "Europe/Berlin%00", "Europe/Berlin'--"];
    for (const path of ["/v1/usage", "/v1/usage/performance"]) {
      for (const query of [year, ...unknown.map((zone) => `${short}&time_zone=${zone}`)]) {
        const reply = await sendRest(service.baseUrl, "GET", `${path}?${query}`, { headers });
        expect(reply, `${path}?${query}`).toMatchObject({
          status: 400,
          body: { error: { code: "invalid_request", param: "time_zone" } },
        });
        expect(reply.body.error.message).not.toContain("timeZone");
      }
    }
  });
});

describe("dates without a time", () => {
  it("are whole days of UTC in pages and exports of the audit log", async () => {
    for (const path of ["/v1/audit", "/v1/audit/export"] as const) {
      expect(await countOf(path, `from=${today}&to=${today}`), path).toBe(REQUESTS);
      expect(await countOf(path, `to=${dayOf(new Date(today), -1)}`), path).toBe(0);
      expect(await countOf(path, `from=${dayOf(new Date(today), 1)}`), path).toBe(0);
      expect(await countOf(path, `to=${today}T00:00:00Z`), path).toBe(0);
    }
  });

  it("are filters of procedures, beside times as text and as Date", async () => {
    const { entries } = await owner.trpc.audit.list.query({ from: today, to: today });
    expect(entries.length).toBeGreaterThanOrEqual(REQUESTS);
    const to = new Date(today);
    expect((await owner.trpc.audit.list.query({ to })).entries).toEqual([]);
    expect((await owner.trpc.audit.list.query({ to: to.toISOString() })).entries).toEqual([]);
  });

  it("select the same entries on every page and in a resumed export", async () => {
    const period = `from=${today}&to=${today}`;
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const response = await fetch(`${service.baseUrl}/v1/audit?limit=1&${period}${cursor}`, { headers });
      const page = await response.json();
      seen.push(...page.data.map(({ id }: { id: string }) => id));
      if (!page.has_more) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(REQUESTS);
    const lines = async (cursor: string) =>
      (await (await fetch(`${service.baseUrl}/v1/audit/export?${period}${cursor}`, { headers })).text())
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { id: string; cursor: string });
    const [first, ...rest] = await lines("");
    const resumed = await lines(`&cursor=${first?.cursor}`);
    expect(resumed.slice(0, rest.length).map(({ id }) => id)).toEqual(rest.map(({ id }) => id));
  });
});

describe("times with an offset", () => {
  it("are accepted, and a plus sign that a URL has as a space is named", async () => {
    for (const path of ["/v1/audit", "/v1/audit/export"] as const)
      expect(await countOf(path, `from=${today}T01:00:00%2B01:00`), path).toBe(REQUESTS);
    for (const name of ["from", "to"]) {
      const path = `/v1/audit?${name}=${today}T01:00:00+01:00`;
      const { status, body } = await sendRest(service.baseUrl, "GET", path, { headers });
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ param: name, message: expect.stringContaining("%2B") });
    }
  });
});
