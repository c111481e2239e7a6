import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RouterOutputs } from "../../sdk/src/trpc.ts";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

type UsageRow = RouterOutputs["operator"]["usage"]["rows"][number];

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const ACCOUNTS = 60;
/** In the days or hours that are left of a time when its longest periods are taken out. */
const ENDS = [
  "2025-01-20T03:00Z",
  "2025-04-03T03:00Z",
  "2025-02-10T06:00Z",
  "2025-02-27T10:00Z",
  "2025-01-31T11:00Z",
  "2025-03-01T11:00Z",
  "2025-03-02T11:00Z",
];

let service: Service;
let sql: ServiceDatabase;
let operator: Visitor;
/** What was recorded in the spring of 2025, by two nodes. */
const history: AuditEntry[] = [];
const names = new Map<string, string>();

beforeAll(async () => {
  service = await startOperatedService();
  await inOtherTimeZone(service);
  sql = await openDatabaseOf(service);
  operator = await signInOperator(service.baseUrl);
  for (let number = 0; number < ACCOUNTS; number++) {
    const id = uuidv7();
    names.set(id, `Account ${number}`);
    await sql`insert into accounts (id, name, created_at) values (${id}, ${`Account ${number}`}, now())`;
  }
  [...names.keys()].forEach((account, number) => {
    for (let turn = 0; turn < 20; turn++) {
      const day = (number * 7 + turn * 13) % 100;
      const hour = (number * 5 + turn * 3) % 24;
      const at = new Date(Date.UTC(2025, 0, 10, hour, (number + turn) % 60) + day * DAY_MS);
      // Some accounts cost alike, and some of them make as many requests.
      history.push(entryOf(account, at, `acme/chat-${turn % 3}`, BigInt((number % 17) * 1_000)));
      if (number % 4 === 0) history.push(entryOf(account, at, "acme/free", 0n));
    }
  });
  // What costs little otherwise costs most at one end of a time that is asked about below.
  const cheap = [...names.keys()].filter((_, number) => number % 17 === 0 || number % 17 === 1);
  for (const [index, time] of ENDS.entries()) {
    history.push(entryOf(cheap[index] ?? "", new Date(time), "acme/chat-0", 1_000_000n));
  }
  const middle = Math.floor(history.length / 2);
  await record(history.slice(0, middle));
  await record(history.slice(middle));
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

/** Days are those of UTC also for nodes whose sessions have another time zone, as new ones of this database do. */
async function inOtherTimeZone(of: Service): Promise<void> {
  await using admin = await openDatabaseOf(of);
  const [row] = await admin<{ name: string }[]>`select current_database() as name`;
  await admin.unsafe(`alter database "${row?.name}" set timezone = 'Asia/Kathmandu'`);
}

/** As a node of its own. */
async function record(entries: readonly AuditEntry[]): Promise<void> {
  await new PostgresAudit(sql, crypto.randomUUID()).insertEntries(entries);
}

function entryOf(account: string, at: Date, model: string, costNanoUsd: bigint): AuditEntry {
  return auditEntry({
    id: uuidv7({ msecs: at.getTime() }) as EntryId,
    accountId: account as AccountId,
    key: `${account.slice(0, -4)}0000` as KeyUuid,
    at,
    model,
    upstream: "main",
    status: model === "acme/free" ? 429 : 200,
    usageSource: "upstream",
    promptTokens: 100,
    completionTokens: 20,
    cachedTokens: 5,
    costNanoUsd,
    sourceIp: "192.0.2.1",
  });
}

type Question = Parameters<typeof operator.trpc.operator.usage.query>[0] & {
  readonly from: Date;
  readonly to: Date;
};

/** The same by adding up the entries, one after the other. */
function addUp(entries: readonly AuditEntry[], { from, to, interval, groupBy = "none" }: Question) {
  const length = { hour: 13, day: 10, month: 7 }[interval];
  const beginning = (at: Date) => `${at.toISOString().slice(0, length)}`;
  const startMs = (at: Date) => Date.parse(`${beginning(at)}${interval === "hour" ? ":00Z" : ""}`);
  // Intervals that the period covers in part are included as a whole.
  const last = new Date(to.getTime() - 1);
  const within = entries.filter(
    ({ at }) => beginning(at) >= beginning(from) && beginning(at) <= beginning(last),
  );
  const groupOf = (entry: AuditEntry) =>
    ({ none: "", model: entry.model ?? "", account: entry.accountId })[groupBy];
  const costs = new Map<string, { cost: bigint; requests: number }>();
  for (const entry of within) {
    const sum = costs.get(groupOf(entry)) ?? { cost: 0n, requests: 0 };
    costs.set(groupOf(entry), { cost: sum.cost + entry.costNanoUsd, requests: sum.requests + 1 });
  }
  const ranked = [...costs].sort(
    ([a, one], [b, other]) =>
      Number(other.cost - one.cost) || other.requests - one.requests || (a < b ? -1 : 1),
  );
  const intervalMs = { hour: HOUR_MS, day: DAY_MS, month: 28 * DAY_MS }[interval];
  const endMs =
    interval === "month"
      ? Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1)
      : startMs(last) + intervalMs;
  const intervals = Math.ceil((endMs - startMs(from)) / intervalMs);
  const most = Math.min({ none: 1, model: 200, account: 50 }[groupBy], Math.floor(10_000 / intervals));
  const named = new Set(ranked.slice(0, most).map(([group]) => group));
  const sums = new Map<string, { requests: number; errors: number; costNanoUsd: bigint }>();
  for (const entry of within) {
    const group = named.has(groupOf(entry)) ? groupOf(entry) : "the rest";
    const name = `${beginning(entry.at)} ${group}`;
    const sum = sums.get(name) ?? { requests: 0, errors: 0, costNanoUsd: 0n };
    sums.set(name, {
      requests: sum.requests + 1,
      errors: sum.errors + (entry.status >= 400 || entry.errorCode !== null ? 1 : 0),
      costNanoUsd: sum.costNanoUsd + entry.costNanoUsd,
    });
  }
  return { sums, requests: within.length, groups: costs.size };
}

/** Rows in the form of {@link addUp}. */
function bySum(rows: readonly UsageRow[], interval: Question["interval"]) {
  const length = { hour: 13, day: 10, month: 7 }[interval];
  return new Map(
    rows.map(({ start, model, account, isOther, requests, errors, costNanoUsd }) => {
      const group = isOther ? "the rest" : (account?.id ?? model ?? "");
      return [`${start.toISOString().slice(0, length)} ${group}`, { requests, errors, costNanoUsd }];
    }),
  );
}

describe("the whole service's usage", () => {
  const spans: readonly Pick<Question, "from" | "to" | "interval">[] = [
    // Whole months with days before and after, days alone, hours before and after days, a whole month among them.
    { from: new Date("2025-01-15T11:12:13Z"), to: new Date("2025-04-09T23:00Z"), interval: "day" },
    { from: new Date("2025-02-03T00:00Z"), to: new Date("2025-02-19T00:00Z"), interval: "day" },
    { from: new Date("2025-02-10T05:30Z"), to: new Date("2025-02-27T17:00Z"), interval: "hour" },
    { from: new Date("2025-01-31T10:00Z"), to: new Date("2025-03-02T12:00Z"), interval: "hour" },
    { from: new Date("2025-02-10T05:00Z"), to: new Date("2025-02-10T21:00Z"), interval: "hour" },
    { from: new Date("2025-01-01T00:00Z"), to: new Date("2025-06-01T00:00Z"), interval: "month" },
    { from: new Date("2025-02-15T00:00Z"), to: new Date("2025-04-15T00:00Z"), interval: "month" },
  ];

  for (const span of spans) {
    const { from, to, interval } = span;
    it(`from ${from.toISOString()} to ${to.toISOString()} by ${interval} is the sum of the entries`, async () => {
      for (const groupBy of ["none", "model", "account"] as const) {
        const expected = addUp(history, { ...span, groupBy });
        const { rows, total } = await operator.trpc.operator.usage.query({ ...span, groupBy });
        expect(bySum(rows, interval), groupBy).toEqual(expected.sums);
        expect(total.requests).toBe(expected.requests);
        expect(total.promptTokens).toBe(expected.requests * 100);
        expect(total.cachedTokens).toBe(expected.requests * 5);
        expect(rows.map(({ start }) => start)).toEqual(
          rows.map(({ start }) => start).toSorted((a, b) => a.getTime() - b.getTime()),
        );
      }
    });
  }

  it("lists the 50 accounts with the highest cost, and sums up the others", async () => {
    const span = { from: new Date("2025-01-01"), to: new Date("2025-06-01"), interval: "month" } as const;
    expect(addUp(history, { ...span, groupBy: "account" }).groups).toBe(ACCOUNTS);
    const { rows } = await operator.trpc.operator.usage.query({ ...span, groupBy: "account" });
    const named = new Set(rows.flatMap(({ account }) => (account === null ? [] : [account.id])));
    expect(named.size).toBe(50);
    for (const { account, model, isOther } of rows) {
      expect(model).toBeNull();
      expect(isOther).toBe(account === null);
      if (account !== null) expect(account.name).toBe(names.get(account.id));
    }
    // One for each month.
    expect(rows.filter(({ isOther }) => isOther)).toHaveLength(4);
  });

  it("lists 200 models, however many names clients make up", async () => {
    const [account = ""] = names.keys();
    const at = new Date("2024-11-05T06:07:08Z");
    const entries = Array.from({ length: 230 }, (_, number) =>
      entryOf(account, at, `made/up-${number}`, BigInt(number)),
    );
    await record(entries);
    const span = { from: new Date("2024-11-01"), to: new Date("2024-12-01"), interval: "day" } as const;
    const { rows } = await operator.trpc.operator.usage.query({ ...span, groupBy: "model" });
    expect(bySum(rows, "day")).toEqual(addUp(entries, { ...span, groupBy: "model" }).sums);
    expect(rows).toHaveLength(201);
    expect(rows.filter(({ isOther }) => isOther)).toMatchObject([
      { model: null, account: null, requests: 30 },
    ]);
  });

  it("includes every request answered before the query, and agrees with the accounts' own usage", async () => {
    const today = {
      from: new Date(Date.now() - DAY_MS),
      to: new Date(Date.now() + DAY_MS),
      interval: "hour",
    };
    const span = { ...today, interval: "hour" as const };
    const before = (await operator.trpc.operator.usage.query(span)).total.requests;
    const [one, other] = [await signUpWithKey(service.baseUrl), await signUpWithKey(service.baseUrl)];
    for (let turn = 0; turn < 5; turn++) await statusOf(service.baseUrl, one.key);
    await Promise.all(Array.from({ length: 7 }, () => statusOf(service.baseUrl, other.key)));
    expect((await operator.trpc.operator.usage.query(span)).total.requests).toBe(before + 12);
    const { rows } = await operator.trpc.operator.usage.query({ ...span, groupBy: "account" });
    const { id } = await other.trpc.account.get.query();
    const own = rows.filter(({ account }) => account?.id === id).map(({ requests }) => requests);
    expect(own.reduce((sum, requests) => sum + requests, 0)).toBe(7);
    expect((await other.trpc.usage.summary.query(span)).total.requests).toBe(7);
  });

  it("is empty where nothing was used", async () => {
    const span = { from: new Date("2001-01-01"), to: new Date("2001-02-01"), interval: "day" } as const;
    for (const groupBy of ["none", "model", "account"] as const) {
      expect(await operator.trpc.operator.usage.query({ ...span, groupBy })).toMatchObject({
        rows: [],
        total: { requests: 0, costNanoUsd: 0n },
      });
    }
  });

  it("refuses invalid queries, and callers who are not operators", async () => {
    const ask = (from: Date, to: Date, interval: "hour" | "day" = "hour") =>
      refusalOf(operator.trpc.operator.usage.query({ from, to, interval, groupBy: "account" }));
    const now = new Date();
    expect((await ask(now, new Date(now.getTime() - DAY_MS))).code).toBe("invalid_request");
    expect((await ask(new Date(now.getTime() - 40 * DAY_MS), now)).code).toBe("invalid_request");
    expect((await ask(new Date(0), now, "day")).code).toBe("invalid_request");
    expect((await ask(new Date(Number.NaN), now)).code).toBe("invalid_request");
    const owner = await signUpWithKey(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const span = { from: new Date(now.getTime() - DAY_MS), to: now, interval: "day" } as const;
    for (const { trpc } of [
      visit(service.baseUrl),
      owner,
      visit(service.baseUrl, { authorization: `Bearer ${owner.key}` }),
      visit(service.baseUrl, { authorization: `Bearer ${token}` }),
    ]) {
      expect([401, 403]).toContain((await refusalOf(trpc.operator.usage.query(span))).status);
    }
  });
});

const TOKENS = ["prompt_tokens", "completion_tokens", "cached_tokens"];
const SUMS = ["requests", "errors", ...TOKENS, "cost_nano_usd"];

describe("reconciliation", () => {
  it("reports wrong sums of the whole service", async () => {
    const check = async () => (await operator.trpc.operator.checkBooks.query()).usageMismatches;
    const owner = await signUpWithKey(service.baseUrl);
    await statusOf(service.baseUrl, owner.key);
    await owner.trpc.audit.list.query();
    expect(await check()).toEqual([]);
    const { id } = await owner.trpc.account.get.query();
    const { keys } = await owner.trpc.keys.list.query();
    const key = keys[0]?.id ?? "";
    const ofKey = { accountId: id, key, model: "" };
    // Every other sum is right, also that of what adds it up.
    const wrong = [
      ...SUMS.map((sum) => ({
        rows: `usage_service_hours where model = '' order by hour desc`,
        set: sum,
        found: [{ accountId: null, interval: "hour", key: null, model: "" }],
      })),
      ...["requests", "cost_nano_usd"].map((sum) => ({
        rows: `usage_account_months where account_id = '${id}'`,
        set: sum,
        found: [{ accountId: id, interval: "month", key: null, model: null }],
      })),
      ...["errors", ...TOKENS].map((sum) => ({
        rows: `usage_days where account_id = '${id}'`,
        set: sum,
        found: [{ ...ofKey, interval: "day" }],
      })),
      ...["errors", ...TOKENS].map((sum) => ({
        rows: `usage_hours where account_id = '${id}'`,
        set: sum,
        found: [
          { ...ofKey, interval: "hour" },
          { ...ofKey, interval: "day" },
        ],
      })),
    ];
    for (const { rows, set, found } of wrong) {
      const [table = ""] = rows.split(" ");
      const [{ ctid } = { ctid: "" }] = await sql.unsafe(`
        update ${table} set ${set} = ${set} + 1 where ctid = (select ctid from ${rows} limit 1) returning ctid`);
      expect(await check(), `${table}.${set}`).toMatchObject(found);
      await sql.unsafe(`update ${table} set ${set} = ${set} - 1 where ctid = $1`, [ctid]);
    }
    expect(await check()).toEqual([]);
  });
});
