import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";
import { reader } from "./audit-service.ts";

/** What an account may read at once, and what may wait. */
const READS = 2 + 20;
const WAIT = { timeout: 30_000, interval: 100 };

let service: Service;
let sql: ServiceDatabase;

beforeAll(async () => {
  service = await startService();
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

describe("reads whose clients have gone", () => {
  it.each([
    ["GET", "/v1/audit"],
    ["GET", "/v1/audit/summary"],
    ["GET", "/trpc/audit.list"],
    // As inputs that are too long for an address are sent.
    ["POST", "/trpc/audit.list"],
  ])("leave the queue at once: %s %s", async (method, path) => {
    const body = method === "POST" ? { body: '{"json":{}}' } : {};
    const credential = await reader(await signUp(service.baseUrl));
    const headers = { ...credential, "content-type": "application/json" };
    const asked = { method, headers, ...body };
    const clients = new AbortController();
    const metric = (name: string) => metricOf(service.baseUrl, name);
    const timeouts = () => metric('ostiary_reads_refused_total{reason="timeout"}');
    await sql.transaction("", async (held) => {
      await held`lock table audit_entries in access exclusive mode`;
      const reads = Array.from({ length: READS }, () =>
        fetch(service.baseUrl + path, { ...asked, signal: clients.signal }).catch(() => null),
      );
      // The statement keeps the transaction open.
      const waitingMeanwhile = async () => (await held`select 1`) && (await metric("ostiary_reads_waiting"));
      await expect.poll(waitingMeanwhile, WAIT).toBeGreaterThanOrEqual(10);
      const before = await timeouts();
      clients.abort();
      await Promise.all(reads);
      await expect.poll(waitingMeanwhile, WAIT).toBe(0);
      // Otherwise they would have left the queue when their time was over.
      expect(await timeouts()).toBe(before);
    });
    await expect.poll(async () => (await fetch(service.baseUrl + path, asked)).status, WAIT).toBe(200);
  });
});
