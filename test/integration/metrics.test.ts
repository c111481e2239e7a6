import { describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const service = sharedByFile(startOperatedService);

/** What one scrape finds, by name and labels as they stand in the text. */
async function scrape(at: Service): Promise<Map<string, number>> {
  const response = await fetch(`${at.baseUrl}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("version=0.0.4");
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const split = line.lastIndexOf(" ");
      return [line.slice(0, split), Number(line.slice(split + 1))];
    }),
  );
}

async function chat(key: string, model: string): Promise<void> {
  const response = await sendChat(service.baseUrl, key, { model });
  await response.arrayBuffer();
}

describe("the metrics", () => {
  it("count requests, tokens and times, and have no labels that clients make up", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    await chat(key, "sandbox/echo");
    await chat(key, "sandbox/echo");
    await chat(key, "made/up");
    const found = await scrape(service);
    const labels = 'endpoint="POST /v1/chat/completions"';
    const requests = (model: string, status: number, reason: string) =>
      found.get(
        `ostiary_requests_total{${labels},model="${model}",status="${status}",end_reason="${reason}"}`,
      );
    expect(requests("sandbox/echo", 200, "stop")).toBe(2);
    expect(requests("unknown", 404, "refused")).toBe(1);
    expect(found.get(`ostiary_request_duration_seconds_count{${labels}}`)).toBe(3);
    // Each bucket holds those below it, and the last all of them.
    const buckets = [...found].filter(([name]) =>
      name.startsWith("ostiary_request_duration_seconds_bucket{"),
    );
    const counts = buckets.filter(([name]) => name.includes(labels)).map(([, count]) => count);
    expect(counts.length).toBeGreaterThan(10);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBe(3);
    expect(found.get(`ostiary_request_duration_seconds_bucket{le="300",${labels}}`)).toBe(3);
    expect(found.get(`ostiary_request_duration_seconds_sum{${labels}}`)).toBeGreaterThan(0);
    expect(found.get('ostiary_time_to_first_token_seconds_count{model="sandbox/echo"}')).toBe(2);
    expect(found.get('ostiary_tokens_total{model="sandbox/echo",kind="completion"}')).toBeGreaterThan(0);
    expect(found.get("ostiary_requests_in_flight")).toBe(0);
    expect([...found.keys()].filter((name) => name.includes("made/up") || name.includes(key))).toEqual([]);
  });

  it("report how far the recorder is behind, and that holds are settled", async () => {
    await expect.poll(async () => (await scrape(service)).get("ostiary_recorder_waiting_entries")).toBe(0);
    const found = await scrape(service);
    expect(found.get("ostiary_recorder_lag_seconds")).toBe(0);
    expect(found.get("ostiary_recorder_failures_total")).toBe(0);
    expect(found.get("ostiary_credit_holds")).toBe(0);
    expect(found.get("ostiary_credit_held_usd")).toBe(0);
    // Otherwise the alert on a reconciliation that is late would not notice one that never succeeds.
    expect(found.get("ostiary_reconciliation_checked_timestamp_seconds")).toBeGreaterThan(0);
    expect(found.get("process_cpu_seconds_total")).toBeGreaterThan(0);
  });

  it("are served only to the operator's network", async () => {
    const through = await fetch(`${service.baseUrl}/metrics`, {
      headers: { "x-forwarded-for": "127.0.0.1" },
    });
    expect(through.status).toBe(403);
    await using elsewhere = await startService({
      env: { OSTIARY_METRICS_FROM: "192.0.2.0/24", TRUSTED_PROXIES: "127.0.0.1" },
    });
    const from = async (address: string) =>
      (await fetch(`${elsewhere.baseUrl}/metrics`, { headers: { "x-forwarded-for": address } })).status;
    expect(await from("192.0.2.7")).toBe(200);
    expect(await from("198.51.100.7")).toBe(403);
    expect((await fetch(`${elsewhere.baseUrl}/metrics`)).status).toBe(403);
  });
});

describe("reconciliation", () => {
  it("reports sums that are wrong, to the operator and in the metrics", async () => {
    await using own = await startOperatedService();
    const owner = await signUpWithKey(own.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await (
      await fetch(`${own.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${owner.key}` } })
    ).text();
    await owner.trpc.usage.summary.query({
      from: new Date(Date.now() - 3_600_000),
      to: new Date(Date.now() + 3_600_000),
      interval: "hour",
    });
    const operator = await signInOperator(own.baseUrl);
    const check = () => operator.trpc.operator.checkBooks.query();
    expect(await check()).toMatchObject({ mismatches: [], usageMismatches: [] });
    expect((await scrape(own)).get("ostiary_reconciliation_balance_mismatches")).toBe(0);

    await using sql = await openDatabaseOf(own);
    await sql`update usage_hours set requests = requests + 1 where account_id = ${id}`;
    expect((await check()).usageMismatches).toMatchObject([
      { accountId: id, interval: "hour" },
      { accountId: id, interval: "day" },
    ]);
    await sql`update accounts set free_nano_usd = free_nano_usd + 1 where id = ${id}`;
    expect((await check()).mismatches).toMatchObject([{ accountId: id }]);
    const found = await scrape(own);
    expect(found.get("ostiary_reconciliation_balance_mismatches")).toBe(1);
    expect(found.get("ostiary_reconciliation_usage_mismatches")).toBe(2);
  });
});
