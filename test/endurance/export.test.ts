import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";
import { isDistributed } from "./load.ts";

const ENTRIES = Number(process.env.ENTRIES ?? 200_000);
const BATCH = 500;

/** So many entries, up to now, as if they had been recorded. */
async function fill(service: Service, account: string, key: string): Promise<void> {
  await using sql = await openDatabaseOf(service);
  await sql`
    insert into audit_entries (id, account_id, key, key_id, at, endpoint, model, upstream, status, end_reason, usage_source,
      prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, latency_ms, time_to_first_token_ms, source_ip, batch)
    select (lpad(to_hex(ms), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
           ${account}::uuid, ${key}::uuid, 'abcd', to_timestamp(ms / 1000.0), 'POST /v1/chat/completions', 'acme/chat', 'main',
           200, 'stop', 'upstream', 1000, 200, 0, 4500000, 812, 211, '192.0.2.1', (n - 1) / ${BATCH} + 1
    from (
      select n, (extract(epoch from now()) * 1000)::bigint - (${ENTRIES} - n)::bigint * 100 as ms
      from generate_series(1, ${ENTRIES}) n
    ) entry`;
  await sql`
    insert into audit_batches (account_id, batch, entries, newest, digest)
    select account_id, batch, count(*), (array_agg(id order by id desc))[1], sha256(batch::text::bytea)
    from audit_entries where account_id = ${account} group by account_id, batch`;
  await sql`
    insert into audit_chains (account_id, batches, digest, newest)
    select account_id, batch, digest, newest from audit_batches where account_id = ${account} order by batch desc limit 1`;
}

it.skipIf(isDistributed)(
  `a script exports ${ENTRIES} entries through a service that is killed and started again midway`,
  {
    timeout: 600_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "ostiary-export-"));
    const file = join(folder, "audit.csv");
    let service = await startService();
    const { dataDir } = service;
    const port = new URL(service.baseUrl).port;
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "busy" });
    await fill(service, (await owner.trpc.account.get.query()).id, id);

    const script = spawn(process.execPath, [join(ROOT, "test/endurance/export-script.mjs"), file], {
      env: { PATH: process.env.PATH, OSTIARY_API_KEY: key, OSTIARY_BASE_URL: service.baseUrl },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const ended = once(script, "close");
    const sizeOf = async () => (await stat(file).catch(() => ({ size: 0 }))).size;
    await expect.poll(sizeOf, { interval: 5 }).toBeGreaterThan(ENTRIES * 40);
    await service.kill();
    service = await startService({ dataDir, env: { PORT: port } });
    expect((await ended)[0]).toBe(0);

    const found = new Set<string>();
    let lines = 0;
    let isOrdered = true;
    let before = "";
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const entry = line.slice(0, 36);
      if (lines++ === 0) continue;
      isOrdered &&= entry > before;
      before = entry;
      if (line.includes("acme/chat")) found.add(entry);
    }
    expect(isOrdered).toBe(true);
    expect(found.size).toBe(ENTRIES);
    await service.stop();
    await rm(folder, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  },
);
