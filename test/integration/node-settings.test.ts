import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { runOperatorCommand } from "../fixtures/command.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { OPERATOR_ENV, signInOperator, startOperatedService } from "../fixtures/operator.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

const contentOf = (inputUsdPerMTok: number) => ({
  upstreams: { main: { dialect: "openai", baseUrl: "http://127.0.0.1:9/v1" } },
  models: [{ id: "m", prices: { inputUsdPerMTok, outputUsdPerMTok: 2 }, routes: [{ upstream: "main" }] }],
});

describe("the settings of a node", () => {
  it.runIf(isDistributed)("are compared with those of the other nodes", async () => {
    await using ownCatalog = await writeCatalog(contentOf(1));
    await using otherCatalog = await writeCatalog(contentOf(3));
    const OSTIARY_PLANS = '{"free":{"requestsPerMinute":7}}';
    await using first = await startOperatedService({
      env: { OSTIARY_CATALOG: ownCatalog.file, OSTIARY_PLANS },
    });
    await using second = await startOperatedService({
      databaseUrl: first.databaseUrl ?? "",
      env: { OSTIARY_CATALOG: otherCatalog.file },
    });
    const base = { OSTIARY_BASE_URL: second.baseUrl };
    const { stdout: token } = await runOperatorCommand(["token", "settings"], { ...base, ...OPERATOR_ENV });
    const env = { ...base, OSTIARY_MANAGEMENT_TOKEN: token.trim() };
    const { trpc } = await signInOperator(first.baseUrl);
    const differing = async () =>
      (await trpc.operator.nodes.settings.query()).differences.map(({ setting }) => setting);

    await expect.poll(differing, { timeout: 30_000 }).toEqual(["plans", "prices"]);
    const { settingDifferences } = await trpc.operator.status.query();
    expect(settingDifferences).toMatchObject([
      { setting: "plans", nodes: [expect.stringContaining(second.dataDir)], isLasting: false },
      { setting: "prices" },
    ]);
    const other = (setting: string) =>
      metricOf(second.baseUrl, `ostiary_nodes_with_other_settings{setting="${setting}"}`);
    await expect.poll(() => other("plans"), { timeout: 30_000 }).toBe(1);
    expect([await other("catalog"), await other("responses")]).toEqual([0, 0]);
    const differs = await runOperatorCommand(["nodes", "settings"], env);
    expect(differs.stdout).toContain(`data folder ${second.dataDir} (answers)`);
    expect(differs.stdout).toMatch(/^Other plans since .+ on: .+\. OSTIARY_PLANS must be the same/m);
    expect(differs.code).toBe(1);

    // The catalog file is loaded again, and compared again.
    await writeFile(otherCatalog.file, JSON.stringify(contentOf(1)));
    await expect.poll(differing, { timeout: 30_000 }).toEqual(["plans"]);

    // A node that has stopped is not compared.
    await second.stop();
    await expect.poll(differing, { timeout: 30_000 }).toEqual([]);

    // Nor is one that was killed while the database's clock was a day ahead: it counts as seen when the other one finds that.
    await using sql = await openDatabaseOf(first);
    await sql`
      insert into nodes (id, coordination, label, seen_at, life)
      values (gen_random_uuid(), 'redis', 'killed', now() + interval '1 day', gen_random_uuid())`;
    const ahead = async () => (await sql`select from nodes where seen_at > now()`).length;
    await expect.poll(ahead, { timeout: 30_000 }).toBe(0);
  });
});
