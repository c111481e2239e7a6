import { describe, expect, it } from "vitest";
import { UNKNOWN_MODEL } from "../../sdk/src/contract/audit-enums.ts";
import { findUsageMismatches } from "../../server/src/audit/reconciliation.ts";
import type { Database } from "../../server/src/database/database.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { openFormerDatabase } from "../fixtures/former-database.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const HOUR_MS = 60 * 60_000;
/** The last migration before all unknown models had one name. */
const LAST_BEFORE = "0011";

const service = sharedByFile(startService);

const today = { from: new Date(Date.now() - 24 * HOUR_MS), to: new Date(Date.now() + 24 * HOUR_MS) };

describe("model names that are not in the catalog", () => {
  it("are counted as one in the usage, while entries have the names", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const ask = async (path: string, body: object) => {
      const response = await fetch(`${service.baseUrl}/v1/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      await response.arrayBuffer();
      return response.status;
    };
    const messages = [{ role: "user", content: "hi" }];
    for (let batch = 0; batch < 5; batch++) {
      const asked = Array.from({ length: 100 }, (_, at) =>
        ask("chat/completions", { model: `made/up-${batch}-${at}`, messages }),
      );
      expect(new Set(await Promise.all(asked))).toEqual(new Set([404]));
    }
    expect(await ask("embeddings", { model: "made/up", input: "hi" })).toBe(404);
    expect(await ask("chat/completions", { model: "sandbox/echo", messages })).toBe(200);
    const { rows } = await owner.trpc.usage.summary.query({ ...today, interval: "day", groupBy: "model" });
    const requests = new Map<string | null, number>();
    for (const row of rows) requests.set(row.model, (requests.get(row.model) ?? 0) + row.requests);
    expect(Object.fromEntries(requests)).toEqual({ [UNKNOWN_MODEL]: 501, "sandbox/echo": 1 });
    const { entries } = await owner.trpc.audit.list.query({ model: "made/up-4-99" });
    expect(entries).toMatchObject([{ model: "made/up-4-99", errorCode: "model_not_found" }]);
    await using sql = await openDatabaseOf(service);
    expect(await findUsageMismatches(sql, today.from)).toEqual([]);
  });
});

const [ACCOUNT, KEY, NODE, OTHER_NODE] = Array.from({ length: 4 }, () => crypto.randomUUID());

/** Entries of two hours, and the sums as they were kept of them. */
async function fill(sql: Database): Promise<void> {
  await sql`insert into accounts (id, name, created_at) values (${ACCOUNT ?? ""}, 'Former', now())`;
  await sql`
    insert into audit_entries (id, account_id, key, key_id, at, endpoint, model, upstream, status, error_code, end_reason,
      usage_source, cost_nano_usd, latency_ms, batch, prompt_tokens)
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
           ${ACCOUNT ?? ""}::uuid, ${KEY ?? ""}::uuid, 'abcd', at, 'POST /v1/chat/completions',
           -- Made up; had later, and before; had; none.
           case n % 4 when 0 then 'made/up-' || n % 12 when 1 then 'acme/new' when 2 then 'acme/chat' end,
           case when n % 4 = 2 or n % 8 = 1 then 'main' end,
           case when n % 4 = 2 or n % 8 = 1 then 200 else 404 end,
           case when n % 4 = 2 or n % 8 = 1 then null when n % 4 = 3 then 'not_found' else 'model_not_found' end,
           'stop', 'none', 0, 1, 1, case when n % 4 = 2 then 7 end
    from (
      select n, date_trunc('hour', now() - interval '3 hours', 'UTC') + n * interval '1 minute' as at
      from generate_series(0, 119) n
    ) entry`;
  const sums = sql`
    count(*), count(*) filter (where status >= 400), coalesce(sum(prompt_tokens), 0), 0, 0, sum(cost_nano_usd)`;
  await sql`
    insert into usage_hours select account_id, date_trunc('hour', at, 'UTC'), key, coalesce(model, ''), ${sums}
    from audit_entries group by 1, 2, 3, 4`;
  await sql`
    insert into usage_days select account_id, date_trunc('day', at, 'UTC'), key, coalesce(model, ''), ${sums}
    from audit_entries group by 1, 2, 3, 4`;
  await sql`
    insert into usage_service_hours
    select date_trunc('hour', at, 'UTC'), case when extract(minute from at) < 20 then ${NODE ?? ""}::uuid else ${OTHER_NODE ?? ""}::uuid end,
           coalesce(model, ''), ${sums}
    from audit_entries group by 1, 2, 3`;
  await sql`
    insert into usage_account_months select date_trunc('month', at, 'UTC'), account_id, count(*), sum(cost_nano_usd)
    from audit_entries group by 1, 2`;
}

describe("a database of a former version", () => {
  it("has its sums of unknown models merged under one name", async () => {
    await using former = await openFormerDatabase(service, LAST_BEFORE);
    const { sql } = former;
    await fill(sql);
    await former.upgrade();
    const counted = await sql<{ model: string; requests: bigint; errors: bigint }[]>`
      select model, sum(requests)::bigint as requests, sum(errors)::bigint as errors
      from usage_hours group by 1 order by 1`;
    expect(counted).toEqual([
      { model: "", requests: 30n, errors: 30n },
      { model: "acme/chat", requests: 30n, errors: 0n },
      { model: "acme/new", requests: 15n, errors: 0n },
      { model: UNKNOWN_MODEL, requests: 45n, errors: 45n },
    ]);
    const left = await sql`
      select from usage_service_hours where model like 'made/up%' or requests < 0 or errors < 0`;
    expect(left).toHaveLength(0);
    const since = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS);
    expect(await findUsageMismatches(sql, since)).toEqual([]);
  });
});
