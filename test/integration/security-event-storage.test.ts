import { Agent, request } from "node:http";
import { describe, expect, it } from "vitest";
import { dropOldSecurityEvents } from "../../server/src/security/security-store.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { from, plainEvent, TRUSTING_PROXY, useUnknownKey } from "./security-events.ts";

const DAY_MS = 24 * 60 * 60_000;
const hasDatabaseServer = process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
const isDistributed = hasDatabaseServer && process.env.OSTIARY_TEST_REDIS_URL !== undefined;

describe("a security event", () => {
  it("is kept for 90 days", async () => {
    await using own = await startOperatedService();
    const admin = await signInOperator(own.baseUrl);
    await statusOf(own.baseUrl, "sk-nobody");
    const query = admin.trpc.operator.security.query;
    expect((await query()).events).toHaveLength(2);
    await using sql = await openDatabaseOf(own);
    await dropOldSecurityEvents(sql, new Date(Date.now() + 89 * DAY_MS));
    expect((await query()).events).toHaveLength(2);
    await dropOldSecurityEvents(sql, new Date(Date.now() + 91 * DAY_MS));
    expect((await query()).events).toEqual([]);
  });
});

/** Answers by status, on connections that are kept. */
async function flood(baseUrl: string, count: number, headersOf: (number: number) => Record<string, string>) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const send = (number: number) =>
    new Promise<number | undefined>((resolve, reject) => {
      request(`${baseUrl}/v1/models`, { agent, headers: headersOf(number) }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      })
        .on("error", reject)
        .end();
    });
  const statuses = new Map<number | undefined, number>();
  let next = 0;
  const client = async () => {
    for (let number = next++; number < count; number = next++) {
      const status = await send(number);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 32 }, client));
  agent.destroy();
  return statuses;
}

describe("a flood of requests from 20,000 addresses", () => {
  it("is counted completely, in a bounded number of events, and hides no other kind of event", {
    timeout: 300_000,
  }, async () => {
    const COUNT = 20_000;
    const MAX_PER_HOUR = 500;
    await using own = await startOperatedService({ env: TRUSTING_PROXY });
    const admin = await signInOperator(own.baseUrl);
    const owner = await signUpWithKey(own.baseUrl);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    const statuses = await flood(own.baseUrl, COUNT, (number) => ({
      authorization: "Bearer sk-nobody",
      "x-forwarded-for": `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
    }));
    expect(Object.fromEntries(statuses)).toEqual({ 401: COUNT });
    await statusOf(own.baseUrl, owner.key, from("192.0.2.77"));

    const query = admin.trpc.operator.security.query;
    const events: Awaited<ReturnType<typeof query>>["events"][number][] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await query({
        kind: "unknown_key",
        limit: 200,
        ...(cursor === undefined ? {} : { cursor }),
      });
      events.push(...page.events);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(events.reduce((sum, { count }) => sum + count, 0)).toBe(COUNT);
    const hourOf = ({ firstAt }: { firstAt: Date }) => firstAt.toISOString().slice(0, 13);
    for (const hour of new Set(events.map(hourOf))) {
      const ofHour = events.filter((event) => hourOf(event) === hour);
      // And one for all the others.
      expect(ofHour.length).toBeLessThanOrEqual(MAX_PER_HOUR + 1);
      expect(ofHour.filter(({ sourceIp }) => sourceIp === null).length).toBeLessThanOrEqual(1);
    }
    expect(events.filter(({ sourceIp }) => sourceIp === null).length).toBeGreaterThan(0);
    expect((await query({ kind: "revoked_key" })).events).toMatchObject([
      { sourceIp: "192.0.2.77", keyId: owner.key.slice(-4) },
    ]);
  });
});

describe("security events that are not written yet", () => {
  it("are written when the service stops", async () => {
    await using first = await startOperatedService({ env: TRUSTING_PROXY });
    await useUnknownKey(first.baseUrl, "192.0.2.5");
    expect(await first.stop()).toBe(0);
    await using second = await startOperatedService({
      dataDir: first.dataDir,
      ...(first.databaseUrl === undefined ? {} : { databaseUrl: first.databaseUrl }),
    });
    const admin = await signInOperator(second.baseUrl);
    const { events } = await admin.trpc.operator.security.query({ source: "192.0.2.5" });
    expect(events).toMatchObject([plainEvent("unknown_key", 1, "192.0.2.5")]);
  });

  it.skipIf(!hasDatabaseServer)("wait for an unreachable database without delaying requests", async () => {
    const alone = { ...TRUSTING_PROXY, REDIS_URL: undefined, OSTIARY_LOG: "error" };
    await using first = await startOperatedService({ env: alone });
    const url = new URL(first.databaseUrl ?? "");
    await first.stop();
    await using way = await openTcpProxy(Number(url.port));
    url.port = String(way.port);
    await using node = await startOperatedService({ databaseUrl: url.href, env: alone });
    const admin = await signInOperator(node.baseUrl);
    const query = admin.trpc.operator.security.query;
    await useUnknownKey(node.baseUrl, "192.0.2.6");
    expect((await query({ source: "192.0.2.6" })).events).toHaveLength(1);
    way.cut();
    for (let number = 0; number < 50; number++) {
      expect(await useUnknownKey(node.baseUrl, "192.0.2.6")).toBe(401);
    }
    // What could not be written is kept, with what comes after it.
    await expect.poll(() => node.stderr()).toContain("write security events");
    expect(await useUnknownKey(node.baseUrl, "192.0.2.6")).toBe(401);
    way.heal();
    const count = async () =>
      (await query({ source: "192.0.2.6" }).catch(() => ({ events: [] }))).events.reduce(
        (sum, event) => sum + event.count,
        0,
      );
    await expect.poll(count).toBe(52);
  });

  it.skipIf(!isDistributed)("are added to those of other nodes", async () => {
    await using one = await startOperatedService({ env: TRUSTING_PROXY });
    const { databaseUrl } = one;
    if (databaseUrl === undefined) throw new Error("nodes that share nothing prove nothing");
    await using other = await startOperatedService({ databaseUrl, env: TRUSTING_PROXY });
    for (const node of [one, other, other]) await useUnknownKey(node.baseUrl, "192.0.2.8");
    const admin = await signInOperator(one.baseUrl);
    const count = async () => {
      const { events } = await admin.trpc.operator.security.query({ source: "192.0.2.8" });
      return events.reduce((sum, event) => sum + event.count, 0);
    };
    // What the other has seen it writes within seconds.
    await expect.poll(count).toBe(3);
  });
});
