// What clients notice while the database is slow, and while it is away: RATE requests a second, SECONDS of each. Needs a
// PostgreSQL to make a database on: OSTIARY_TEST_DATABASE_URL.
import { Agent, request } from "undici";
import { openDatabaseOf } from "../fixtures/database.ts";
import { startService } from "../fixtures/service.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { report, summary } from "./measure.ts";

const RATE = Number(process.env.RATE ?? 500);
const SECONDS = Number(process.env.SECONDS ?? 60);
const DELAY_MS = 500;
const TICK_MS = 10;

if (process.env.OSTIARY_TEST_DATABASE_URL === undefined) {
  console.log("skipped: set OSTIARY_TEST_DATABASE_URL");
  process.exit(0);
}

const agent = new Agent({ connections: 256 });

/** Sends at a steady rate, whatever the answers are. */
async function load(
  baseUrl: string,
  key: string,
  seconds: number,
): Promise<{ ms: number[]; failed: number }> {
  const ms: number[] = [];
  let failed = 0;
  const body = JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const one = async () => {
    const started = performance.now();
    try {
      const url = `${baseUrl}/v1/chat/completions`;
      const response = await request(url, { method: "POST", headers, body, dispatcher: agent });
      await response.body.text();
      if (response.statusCode !== 200) failed++;
    } catch {
      failed++;
    }
    ms.push(performance.now() - started);
  };
  const begun = performance.now();
  const all: Promise<void>[] = [];
  while (performance.now() - begun < seconds * 1_000) {
    const due = Math.floor(((performance.now() - begun) / 1_000) * RATE);
    while (all.length < due) all.push(one());
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(all);
  return { ms, failed };
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}

const env = { REDIS_URL: undefined, OSTIARY_LOG: "silent" };
const first = await startService({ env });
const owner = await signUpWithKey(first.baseUrl);
const { id: accountId } = await owner.trpc.account.get.query();
await first.stop();
const url = new URL(first.databaseUrl ?? "");
const way = await openTcpProxy(Number(url.port));
url.port = String(way.port);
const node = await startService({ databaseUrl: url.href, env });
const sql = await openDatabaseOf(first);
let sent = 0;
try {
  await load(node.baseUrl, owner.key, 3).then(({ ms }) => (sent += ms.length));
  const phases = {
    "with the database": { before: () => {}, seconds: Math.min(SECONDS, 20) },
    [`with a database that answers ${DELAY_MS} ms late`]: {
      before: () => way.delay(DELAY_MS),
      seconds: Math.min(SECONDS, 20),
    },
    [`with no database for ${SECONDS} s`]: { before: () => way.cut(), seconds: SECONDS },
  };
  for (const [what, { before, seconds }] of Object.entries(phases)) {
    way.delay(0);
    before();
    const { ms, failed } = await load(node.baseUrl, owner.key, seconds);
    sent += ms.length;
    const times = [0.5, 0.99].map((share) => percentile(ms, share).toFixed(2)).join(" / ");
    report(`${what}: latency at 50 / 99 %`, "ms", times);
    report("  requests, and failed ones", "", `${ms.length}, ${failed}`);
  }
  way.heal();
  const back = performance.now();
  let recorded = 0;
  while (recorded < sent && performance.now() - back < 120_000) {
    const [row] = await sql`select count(*)::int as count from audit_entries where account_id = ${accountId}`;
    recorded = row?.count ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  report("drained after", "s", summary([(performance.now() - back) / 1_000], 1));
  report("entries of requests", "", `${recorded} of ${sent}`);
} finally {
  await sql.end();
  await node.stop();
  await way[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  await agent.close();
}
