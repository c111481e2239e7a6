import { describe, expect, it } from "vitest";
import { backUp } from "../fixtures/backup.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { OPERATOR_ENV, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startRedis } from "../fixtures/redis.ts";
import { statusOf } from "../fixtures/request.ts";
import { runToExit, type Service, startService } from "../fixtures/service.ts";
import { PASSWORD, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";
import { ANSWER_COST, startGatedModel } from "./gated-model.ts";
import { expectNothingLost, isDistributed, Load, signUpFunded, startPricedModel } from "./load.ts";
import { accountAt, expectPaid, openAccount, WITHOUT_CREDIT } from "./money.ts";
import { ask, askTimes, askUntil, type Outcome, statusesOf } from "./requests.ts";

/** Nodes of a backup and of its copies have the same settings, as an operator leaves them. */
function settingsFor(redisUrl: string, more: Readonly<Record<string, string>> = {}) {
  return {
    ...OPERATOR_ENV,
    OSTIARY_LOG: "silent",
    REDIS_URL: redisUrl,
    OSTIARY_REDIS_PREFIX: "ostiary",
    ...more,
  };
}

async function signInAgain(service: Service, email: string): Promise<Visitor> {
  const visitor = visit(service.baseUrl);
  await visitor.trpc.auth.signIn.mutate({ email, password: PASSWORD });
  return visitor;
}

function statusOrRefused(service: Service, key: string): Promise<number | "refused"> {
  return statusOf(service.baseUrl, key).catch(() => "refused" as const);
}

async function tickOf(service: Service): Promise<bigint> {
  await using database = await openDatabaseOf(service);
  const [row] = await database<{ tick: bigint }[]>`select epoch_tick as tick from installation`;
  return row?.tick ?? 0n;
}

describe.skipIf(!isDistributed)("a backup that was made under load", () => {
  it("restores into an empty database: sums and chains agree, keys work, and revoked keys do not", async () => {
    await using redis = await startRedis();
    await using model = await startPricedModel();
    const env = settingsFor(redis.url, model.env);
    await using service = await startOperatedService({ env });
    const owner = await signUpFunded(service);
    const revoked = await owner.trpc.keys.create.mutate({ name: "revoked before" });
    await owner.trpc.keys.revoke.mutate({ id: revoked.id });
    const load = new Load(owner.key);
    load.start(4, () => service.baseUrl);
    await expect.poll(() => load.seen.size).toBeGreaterThan(50);

    await using backup = await backUp(service.databaseUrl ?? "");
    const seenBefore = load.seen.size;
    await expect.poll(() => load.seen.size).toBeGreaterThan(seenBefore + 50);
    await load.stop();
    expect(await service.stop()).toBe(0);

    const databaseUrl = await backup.restore();
    await using restored = await startOperatedService({ env, databaseUrl, dataDir: service.dataDir });
    expect(await statusOf(restored.baseUrl, owner.key)).toBe(200);
    expect(await statusOf(restored.baseUrl, revoked.key)).toBe(401);
    const operator = await signInOperator(restored.baseUrl);
    expect(await operator.trpc.operator.checkBooks.query()).toMatchObject({
      mismatches: [],
      usageMismatches: [],
    });
    const again = await signInAgain(restored, owner.email);
    expect(await again.trpc.audit.verify.query()).toMatchObject({ problems: [], next: null });

    // The restored service goes on: requests are charged, and a revocation is in force.
    const more = new Load(owner.key);
    more.start(2, () => restored.baseUrl);
    await expect.poll(() => more.seen.size).toBeGreaterThan(10);
    await more.stop();
    const busy = (await again.trpc.keys.list.query({})).keys.find(({ name }) => name === "busy");
    await again.trpc.keys.revoke.mutate({ id: busy?.id ?? "" });
    expect(await statusOf(restored.baseUrl, owner.key)).toBe(401);
    expect(await operator.trpc.operator.checkBooks.query()).toMatchObject({
      mismatches: [],
      usageMismatches: [],
    });
    expect(await again.trpc.audit.verify.query()).toMatchObject({ problems: [] });
  });
});

describe.skipIf(!isDistributed)("a database that was restored beside a Redis that is newer", () => {
  it("is served at once on all nodes, and later changes are in force on all of them", async () => {
    await using redis = await startRedis();
    const env = settingsFor(redis.url);
    await using service = await startOperatedService({ env });
    const owner = await signUpWithKey(service.baseUrl);
    const doomed = await owner.trpc.keys.create.mutate({ name: "revoked after the restore" });
    await using backup = await backUp(service.databaseUrl ?? "");
    const late = await owner.trpc.keys.create.mutate({ name: "created after the backup" });
    for (const name of ["one", "two", "three"]) await owner.trpc.keys.create.mutate({ name });
    expect(await statusOf(service.baseUrl, late.key)).toBe(200);
    await service.stop();

    // Twice: the second time Redis has what the first one left.
    for (const round of [1, 2]) {
      const databaseUrl = await backup.restore();
      await using first = await startOperatedService({ env, databaseUrl });
      await using second = await startOperatedService({ env, databaseUrl });
      for (const node of [first, second]) {
        expect(await statusOf(node.baseUrl, owner.key), `round ${round}`).toBe(200);
        expect(await statusOf(node.baseUrl, doomed.key)).toBe(200);
        expect(await statusOf(node.baseUrl, late.key)).toBe(401);
      }
      const again = await signInAgain(first, owner.email);
      for (const name of ["four", "five"]) await again.trpc.keys.create.mutate({ name });
      await again.trpc.keys.revoke.mutate({ id: doomed.id });
      for (const node of [first, second]) {
        expect(await statusOf(node.baseUrl, doomed.key)).toBe(401);
        expect(await statusOf(node.baseUrl, owner.key)).toBe(200);
      }
    }
  });

  it.each(["with", "without"])(
    "stops a node %s Redis that was left running while its database was replaced",
    async (kind) => {
      await using redis = await startRedis();
      const env = { ...settingsFor(redis.url), ...(kind === "with" ? {} : { REDIS_URL: undefined }) };
      await using left = await startOperatedService({ env });
      const owner = await signUpWithKey(left.baseUrl);
      await using backup = await backUp(left.databaseUrl ?? "");
      const atBackup = await tickOf(left);
      const late = await owner.trpc.keys.create.mutate({ name: "created after the backup" });
      expect(await statusOf(left.baseUrl, late.key)).toBe(200);

      // A second of history is the least that a node without published changes can miss.
      await expect.poll(() => tickOf(left)).toBeGreaterThan(atBackup);
      await backup.replace();
      await expect.poll(() => statusOrRefused(left, late.key)).toBe("refused");
      // A supervisor that starts what has failed starts the node again.
      expect(await left.stop()).toBe(1);

      const { databaseUrl = "", dataDir } = left;
      await using restored = await startOperatedService({ env, databaseUrl, dataDir });
      expect(await statusOf(restored.baseUrl, owner.key)).toBe(200);
      expect(await statusOf(restored.baseUrl, late.key)).toBe(401);
    },
  );

  it.each(["with", "without"])(
    "has what a node %s Redis recorded after the backup in the database that was replaced, once the node is started again",
    async (kind) => {
      await using redis = await startRedis();
      await using model = await startPricedModel();
      const env = settingsFor(redis.url, model.env);
      const settings = { env: { ...env, ...(kind === "with" ? {} : { REDIS_URL: undefined }) } };
      await using left = await startOperatedService(settings);
      const owner = await signUpFunded(left);
      await using backup = await backUp(left.databaseUrl ?? "");
      const atBackup = await tickOf(left);
      const load = new Load(owner.key);
      load.start(2, () => left.baseUrl);
      await expect.poll(() => load.seen.size).toBeGreaterThan(20);
      await load.stop();
      // Reading the log sends the node's entries to the database.
      await owner.trpc.audit.list.query({ limit: 1 });
      await expect.poll(() => tickOf(left)).toBeGreaterThan(atBackup);
      await backup.replace();
      await expect.poll(() => statusOrRefused(left, owner.key)).toBe("refused");
      await left.stop();

      const { databaseUrl = "", dataDir } = left;
      await using restored = await startOperatedService({ ...settings, databaseUrl, dataDir });
      await expectNothingLost(restored, owner, load.seen);
    },
  );

  it("pays for what is spent of an account, also if a node records what it answered after the backup", async () => {
    await using redis = await startRedis();
    await using model = await startGatedModel();
    const env = { ...settingsFor(redis.url, model.env), ...WITHOUT_CREDIT };
    await using first = await startOperatedService({ env });
    const { databaseUrl = "" } = first;
    const account = await openAccount(await signInOperator(first.baseUrl), 20n * ANSWER_COST);
    await using backup = await backUp(databaseUrl);
    // A spender that the backup does not know.
    await using second = await startService({ env, databaseUrl });
    const before = await askTimes(10, second.baseUrl, account.key);
    expect(statusesOf(before)).toEqual([200]);
    for (const node of [first, second]) await node.kill();
    await backup.replace();

    await using restored = await startOperatedService({ env, databaseUrl, dataDir: first.dataDir });
    const after = [await ask(restored.baseUrl, account.key)];
    await using returned = await startService({ env, databaseUrl, dataDir: second.dataDir });
    const isExhausted = ({ code }: Outcome) => code === "credit_balance_exhausted";
    after.push(...(await askUntil(isExhausted, restored.baseUrl, account.key)));
    const { uncollected } = await expectPaid(
      await signInOperator(restored.baseUrl),
      accountAt(restored.baseUrl, account),
      [...before, ...after],
    );
    expect(uncollected).toBe(0n);
    expect(await statusOf(returned.baseUrl, account.key)).toBe(200);
  });

  it("is not served beside nodes of the database that it is a copy of, nor they beside it", async () => {
    await using redis = await startRedis();
    const env = settingsFor(redis.url);
    await using original = await startOperatedService({ env });
    const owner = await signUpWithKey(original.baseUrl);
    expect(await statusOf(original.baseUrl, owner.key)).toBe(200);
    await using backup = await backUp(original.databaseUrl ?? "");
    const databaseUrl = await backup.restore();

    const refused = await runToExit({ env, databaseUrl });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("another copy of this database");
    expect(refused.stderr).toContain("OSTIARY_REDIS_PREFIX");
    expect(await statusOf(original.baseUrl, owner.key)).toBe(200);

    // A node that stands still cannot be told from one that is gone. It finds out as soon as it goes on.
    process.kill(original.pid, "SIGSTOP");
    await using copy = await startOperatedService({ env, databaseUrl }).finally(() =>
      process.kill(original.pid, "SIGCONT"),
    );
    const again = await signInAgain(copy, owner.email);
    await again.trpc.keys.revoke.mutate({ id: owner.id });
    await expect.poll(() => statusOrRefused(original, owner.key)).toBe("refused");
    expect(await statusOf(copy.baseUrl, owner.key)).toBe(401);

    const { databaseUrl: originalUrl = "", dataDir } = original;
    const returned = await runToExit({ env, databaseUrl: originalUrl, dataDir });
    expect(returned.code).toBe(1);
    expect(returned.stderr).toContain("another copy of this database");
  });
});

describe.skipIf(!isDistributed)("a Redis that returned with an old state", () => {
  it("admits no key that was revoked since, with and without an earlier restore", async () => {
    await using redis = await startRedis();
    const env = settingsFor(redis.url);
    await using service = await startOperatedService({ env });
    const owner = await signUpWithKey(service.baseUrl);
    const doomed = await owner.trpc.keys.create.mutate({ name: "revoked" });
    expect(await statusOf(service.baseUrl, doomed.key)).toBe(200);
    await redis.save();
    await using backup = await backUp(service.databaseUrl ?? "");
    await owner.trpc.keys.revoke.mutate({ id: doomed.id });

    // While the node runs.
    await redis.restart("saved");
    await expect.poll(() => statusOrRefused(service, owner.key)).toBe(200);
    expect(await statusOf(service.baseUrl, doomed.key)).toBe(401);
    await service.stop();

    // Of the time before a restore: the running node goes on with the epoch that the restore began.
    const databaseUrl = await backup.restore();
    await using restored = await startOperatedService({ env, databaseUrl });
    const visitor = await signInAgain(restored, owner.email);
    await visitor.trpc.keys.revoke.mutate({ id: doomed.id });
    await redis.restart("saved");
    await expect.poll(() => statusOrRefused(restored, owner.key)).toBe(200);
    expect(await statusOf(restored.baseUrl, doomed.key)).toBe(401);
  });
});
