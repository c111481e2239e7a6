import { beforeAll, describe, expect, it } from "vitest";
import { refusalOf } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUp, visit } from "../fixtures/user.ts";
import { type AuditService, type Line, reader, startAuditService } from "./audit-service.ts";

const audited = sharedByFile(startAuditService);
let service: Service;
let chat: AuditService["chat"];
let exported: AuditService["exported"];
let listed: AuditService["listed"];

beforeAll(async () => {
  ({ service, chat, exported, listed } = audited);
});

describe("the audit log", () => {
  it("is filtered alike by time, key, model, status, error and source, by every way of reading it", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const production = await owner.trpc.keys.create.mutate({ name: "production" });
    const staging = await owner.trpc.keys.create.mutate({ name: "staging" });
    await chat(production.key, "sandbox/echo", "192.0.2.1");
    await chat(production.key, "sandbox/lorem", "192.0.2.200");
    await chat(staging.key, "sandbox/echo", "2001:db8::7");
    await chat(staging.key, "no/such/model", "2001:db8::7");
    await owner.trpc.keys.revoke.mutate({ id: staging.id });
    await chat(staging.key, "sandbox/echo", "198.51.100.1");
    const all = await listed(headers);
    expect(all).toHaveLength(5);
    const times = all.map(({ timestamp }) => timestamp as string);
    const third = times[2] as string;

    const cases: [Record<string, string>, number][] = [
      [{ key: production.id }, 2],
      [{ key: staging.id.toUpperCase() }, 3],
      [{ key: staging.keyId }, 3],
      [{ model: "sandbox/echo" }, 2],
      [{ model: "no/such/model" }, 1],
      [{ status: "200" }, 3],
      [{ status: "4xx" }, 2],
      [{ status: "5xx" }, 0],
      [{ status: "error" }, 2],
      [{ model: "sandbox/*" }, 3],
      [{ model: "*ECHO*" }, 2],
      [{ model: "*/l*m" }, 1],
      [{ model: "*_cho" }, 0],
      [{ model: "*%*" }, 0],
      [{ error_code: "*_api_key" }, 1],
      [{ error_code: "*" }, 2],
      [{ error_code: "revoked_api_key" }, 1],
      [{ source: "192.0.2.1" }, 1],
      [{ source: "::ffff:192.0.2.1" }, 1],
      [{ source: "192.0.2.0/24" }, 2],
      [{ source: "2001:db8::/32" }, 2],
      [{ source: "::/0" }, 2],
      [{ from: third }, times.filter((time) => time >= third).length],
      [{ to: third }, times.filter((time) => time < third).length],
      [{ from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00+01:00" }, 0],
      [{ key: production.id, status: "2xx", source: "192.0.2.0/25" }, 1],
    ];
    const trpc = visit(service.baseUrl, headers).trpc;
    for (const [filter, count] of cases) {
      const query = new URLSearchParams(filter).toString();
      const ids = (await listed(headers, query)).map(({ id }) => id);
      expect(ids, query).toHaveLength(count);
      expect((await exported(headers, query)).map(({ id }) => id).reverse(), query).toEqual(ids);
      expect(
        (await trpc.audit.list.query(filter)).entries.map(({ id }) => id),
        query,
      ).toEqual(ids);
    }
  });

  it("is summed up by any filter, as its entries say", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const { key } = await owner.trpc.keys.create.mutate({ name: "summed" });
    for (let request = 0; request < 3; request++) await chat(key, "sandbox/echo");
    await chat(key, "sandbox/lorem");
    await chat(key, "no/such/model");
    const { trpc } = visit(service.baseUrl, headers);
    for (const filter of [{}, { model: "*sandbox*" }, { status: "error" }, { from: "2020-01-01" }]) {
      const { entries } = await trpc.audit.list.query(filter);
      const { total, buckets, bucketMs, models, errorCodes, statuses, countedFrom } =
        await trpc.audit.summary.query(filter);
      const sum = (numbers: readonly (number | null)[]) =>
        numbers.reduce<number>((all, one) => all + (one ?? 0), 0);
      expect(countedFrom).toBeNull();
      expect(total).toEqual({
        requests: entries.length,
        errors: entries.filter(({ status }) => status >= 400).length,
        promptTokens: sum(entries.map(({ promptTokens }) => promptTokens)),
        completionTokens: sum(entries.map(({ completionTokens }) => completionTokens)),
        costNanoUsd: entries.reduce((all, { costNanoUsd }) => all + costNanoUsd, 0n),
      });
      expect(sum(buckets.map(({ requests }) => requests))).toBe(entries.length);
      expect(buckets.length).toBeLessThanOrEqual(100);
      for (const { timestamp } of entries) {
        const bucket = buckets.find(({ start }) => start.getTime() + bucketMs > timestamp.getTime());
        expect(bucket?.start.getTime()).toBeLessThanOrEqual(timestamp.getTime());
      }
      expect(sum(models.map(({ requests }) => requests))).toBe(entries.length);
      expect(sum(statuses.map(({ requests }) => requests))).toBe(entries.length);
      expect(sum(errorCodes.map(({ requests }) => requests))).toBe(total.errors);
    }
    expect((await trpc.audit.summary.query({})).models[0]).toEqual({ value: "sandbox/echo", requests: 3 });
    const none = await trpc.audit.summary.query({ model: "nothing" });
    expect([none.total.requests, none.models]).toEqual([0, []]);
    expect((await trpc.audit.summary.query({ to: "2020-01-01" })).buckets).toEqual([]);
    expect((await refusalOf(trpc.audit.summary.query({ status: "fine" }))).status).toBe(400);
  });

  it("has each entry's time in its ID, so that filters and pages by either agree", async () => {
    const owner = await signUp(service.baseUrl);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    await Promise.all(Array.from({ length: 200 }, () => chat(key)));
    const entries = await listed(await reader(owner), "limit=1000");
    expect(entries).toHaveLength(200);
    for (const { id, timestamp } of entries) {
      const milliseconds = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
      expect(new Date(milliseconds).toISOString()).toBe(timestamp);
    }
  });

  it("refuses a filter that is misspelt or invalid", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const wrong = [
      "statsu=200",
      "status=600",
      "status=ok",
      "from=yesterday",
      "from=2026-13-01T00:00:00Z",
      "to=2026-02-30",
      "to=2026-11-01&from=2026-11-30",
      "key=abc",
      "source=10.1",
      "source=10.0.0.0/33",
      "model=",
      "model=%00",
      "cursor=x",
      "cursor=1:1:~00000000-0000-0000-0000-000000000000",
    ];
    for (const path of ["/v1/audit", "/v1/audit/export"]) {
      for (const query of wrong) {
        const response = await fetch(`${service.baseUrl}${path}?${query}`, { headers });
        expect(response.status, `${path}?${query}`).toBe(400);
        expect((await response.json()).error.param, query).toBe(query.split("=")[0]);
      }
    }
    const format = await fetch(`${service.baseUrl}/v1/audit/export?format=xml`, { headers });
    expect((await format.json()).error.param).toBe("format");
    expect((await refusalOf(owner.trpc.audit.list.query({ status: "ok" }))).code).toBe("invalid_request");
    const reversed = { from: "2026-11-30", to: "2026-11-01" };
    const ask = owner.trpc.audit;
    for (const procedure of [ask.list, ask.summary])
      expect((await refusalOf(procedure.query(reversed))).code).toBe("invalid_request");
  });

  it("has pages that stay the same while entries arrive", async () => {
    const owner = await signUp(service.baseUrl);
    const headers = await reader(owner);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    for (let number = 0; number < 25; number++) await chat(key);
    // Begun before, and recorded after the first page was read: older than what is on it.
    let arrived = 0;
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: string = `limit=4${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
      const response = await fetch(`${service.baseUrl}/v1/audit?${query}`, { headers });
      const page: { data: Line[]; next_cursor: string | null } = await response.json();
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
      await Promise.all([chat(key), chat(key)]);
      arrived += 2;
    }
    expect(seen).toHaveLength(25);
    expect(new Set(seen).size).toBe(25);
    expect(await listed(headers, "limit=1000")).toHaveLength(25 + arrived);
  });
});

describe("the cursor of a page", () => {
  const FROM = "2020-01-01T00:00:00Z";
  type Parameters = Readonly<Record<string, string>>;

  /** An account with three entries, of which one failed. */
  async function logged() {
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "busy" });
    for (const model of ["no/such/model", "sandbox/echo", "no/such/model"]) await chat(key, model);
    const headers = await reader(owner);
    return { id, headers, trpc: visit(service.baseUrl, headers).trpc };
  }
  const ask = (headers: Parameters, parameters: Parameters) =>
    fetch(`${service.baseUrl}/v1/audit?${new URLSearchParams(parameters)}`, { headers });
  const cursorOf = async (headers: Parameters, parameters: Parameters): Promise<string> =>
    (await (await ask(headers, { ...parameters, limit: "1" })).json()).next_cursor;

  it.each<[string, Parameters, Parameters]>([
    ["a filter, without it", { status: "404" }, {}],
    ["no filter, with one", {}, { status: "404" }],
    ["a filter, with another value", { model: "no/*" }, { model: "no/such/*" }],
    ["a filter, with another of the same value", { model: "*" }, { upstream: "*" }],
    ["no period, with one", {}, { from: FROM }],
    ["a period, with another", { from: FROM, to: "2030-01-01" }, { from: FROM, to: "2029-12-31" }],
  ])("does not continue the pages of %s", async (_, begun, continued) => {
    const { headers, trpc } = await logged();
    const cursor = await cursorOf(headers, begun);
    const refused = await ask(headers, { ...continued, cursor });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: {
        code: "invalid_request",
        param: "cursor",
        message: expect.stringMatching(/another filter.*Pass those of the first page, or omit the cursor/),
      },
    });
    const refusal = await refusalOf(trpc.audit.list.query({ ...continued, cursor }));
    expect(refusal.code).toBe("invalid_request");
    const next = await trpc.audit.list.query({ ...begun, cursor, limit: 7 });
    expect(await (await ask(headers, { ...begun, cursor })).json()).toMatchObject({
      data: next.entries.map(({ id }) => ({ id })),
    });
  });

  it("does not continue those of another account, nor an export, nor an export the pages", async () => {
    const { headers } = await logged();
    const other = await logged();
    const cursor = await cursorOf(headers, {});
    expect((await ask(other.headers, { cursor })).status).toBe(400);
    const [line] = await exported(headers);
    expect((await ask(headers, { cursor: line?.cursor ?? "" })).status).toBe(400);
    const query = new URLSearchParams({ cursor });
    const export_ = await fetch(`${service.baseUrl}/v1/audit/export?${query}`, { headers });
    expect(export_.status).toBe(400);
  });

  it("continues those whose filter is written in another way", async () => {
    const { id, headers } = await logged();
    const same: readonly [Parameters, Parameters][] = [
      [
        { from: "2020-01-01", to: "2030-01-31" },
        { from: "2020-01-01T02:00:00+02:00", to: "2030-02-01T00:00:00Z" },
      ],
      [{ source: "192.0.2.1" }, { source: "::ffff:192.0.2.1/128" }],
      [{ key: id }, { key: id.toUpperCase() }],
    ];
    for (const [begun, continued] of same) {
      const answer = await ask(headers, { ...continued, cursor: await cursorOf(headers, begun) });
      expect(answer.status, JSON.stringify(continued)).toBe(200);
      expect((await answer.json()).data).toHaveLength(2);
    }
  });

  it("of an earlier version, which did not name the filter, still continues them", async () => {
    const { headers } = await logged();
    const cursor = await cursorOf(headers, {});
    const [, batch = "", id = ""] = /^(\d+?)(?:\d{20})?(~.+)$/.exec(cursor) ?? [];
    const former = `${batch}${id}`;
    expect(former).toMatch(/^\d{1,3}~/);
    const answer = await ask(headers, { cursor: former, status: "404" });
    expect((await answer.json()).data).toHaveLength(1);
  });
});

describe("the entry of one request", () => {
  const sent = (key: string) => sendChat(service.baseUrl, key);
  const requestIdOf = (response: Response) => response.headers.get("x-request-id") ?? "";

  it("is found by the request ID of its answer, as soon as the answer has ended", async () => {
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "busy" });
    for (let number = 0; number < 5; number++) {
      const response = await sent(key);
      await response.arrayBuffer();
      const requestId = requestIdOf(response);
      const entry = await owner.trpc.audit.get.query({ requestId });
      expect(entry).toMatchObject({ requestId, keyName: "busy", status: 200, sourceIp: "127.0.0.1" });
      const { entries } = await owner.trpc.audit.list.query();
      expect(entries[0]).toEqual(entry);
    }
    await owner.trpc.keys.revoke.mutate({ id });
    const refused = requestIdOf(await sent(key));
    expect(await owner.trpc.audit.get.query({ requestId: refused })).toMatchObject({
      status: 401,
      errorCode: "revoked_api_key",
    });
  });

  it("can't be read by other accounts, for which it does not seem to exist", async () => {
    const owner = await signUp(service.baseUrl);
    const stranger = await signUp(service.baseUrl);
    const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
    const requestId = requestIdOf(await sent(key));
    const failureOf = (id: string) =>
      stranger.trpc.audit.get.query({ requestId: id }).catch(({ message, data }) => ({
        message,
        status: data.httpStatus,
        code: data.ostiary.code,
        param: data.ostiary.param,
      }));
    const unknown = await failureOf("req_019a0000000070008000000000000000");
    expect(unknown).toMatchObject({ status: 404, code: "not_found", param: "requestId" });
    expect(await failureOf(requestId)).toEqual(unknown);
    expect(await owner.trpc.audit.get.query({ requestId })).toMatchObject({ requestId });
  });

  it("is refused for a malformed request ID", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const wrong = [
      "",
      "req_",
      "019a0000-0000-7000-8000-000000000000",
      "req_019a0000000070008000000000000000 ",
      "req_019a000000007000800000000000000g",
      "req_019a0000000040008000000000000000",
      `req_${"0".repeat(5_000)}`,
    ];
    for (const requestId of wrong) {
      const refusal = await refusalOf(trpc.audit.get.query({ requestId }));
      expect(refusal, requestId.slice(0, 50)).toEqual({ status: 400, code: "invalid_request" });
    }
    const more = { requestId: "req_019a0000000070008000000000000000", accountId: "x" };
    expect((await refusalOf(trpc.audit.get.query(more))).code).toBe("invalid_request");
  });
});
