import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type Slot, UNLIMITED } from "../../server/src/contract/limits.ts";
import type { RedisServer } from "../fixtures/redis.ts";
import { type RedisCluster, startRedisCluster } from "../fixtures/redis-cluster.ts";

const PREFIX = "test";
const LIMITS = { ...UNLIMITED, requestsPerMinute: 3 };

describe.skipIf(process.env.OSTIARY_TEST_REDIS_URL === undefined)(
  "the admission store in a Redis Cluster",
  () => {
    let cluster: RedisCluster;
    let store: RedisAdmissionStore;

    beforeAll(async () => {
      cluster = await startRedisCluster();
      store = new RedisAdmissionStore({
        url: cluster.url,
        prefix: PREFIX,
        commandTimeoutMs: 2_000,
        onError: () => {},
      });
      await store.connect();
    }, 60_000);

    afterAll(async () => {
      await store?.close();
      await cluster?.[Symbol.asyncDispose]();
    });

    const admit = (account: AccountId) =>
      store.admit(account, 1n, { limits: LIMITS, tokens: 0, slot: crypto.randomUUID() as Slot });

    async function knownAccount(): Promise<AccountId> {
      const account = crypto.randomUUID() as AccountId;
      expect(await store.commitRead(account, 1n, await store.epoch(account))).toBe(true);
      return account;
    }

    it("notices when any one primary has lost everything", async () => {
      // At its start a node has lost nothing.
      expect(await store.claim("installation")).toBe(false);
      expect(await store.claim("installation")).toBe(false);
      expect(await store.owner("installation")).toBe("installation");
      expect(await store.owner("another")).toBe("installation");
      for (const primary of cluster.primaries) {
        await primary.command("flushall");
        expect(await store.owner("installation")).toBe(null);
        expect(await store.claim("installation")).toBe(true);
        expect(await store.claim("installation")).toBe(false);
      }
    });

    it("is as far in the database's history as any one primary, as a failover sets one back", async () => {
      expect(await store.position()).toBeNull();
      const positions = [
        { epoch: "", tick: 9n },
        { epoch: "", tick: 10n },
      ] as const;
      for (const position of positions) {
        await store.moveTo(position, position);
        expect(await store.position()).toEqual(position);
      }
      const [first, ...others] = cluster.primaries;
      const key = await first?.command("keys", "*:position*");
      await first?.command("hset", key?.trim() ?? "", "tick", "3");
      expect(await store.position()).toEqual(positions[1]);
      for (const primary of others) await primary.command("flushall");
      expect(await store.position()).toEqual({ epoch: "", tick: 3n });
      await first?.command("flushall");
      expect(await store.position()).toBeNull();
    });

    it("does not identify itself while any one primary does not", async () => {
      const server = await store.server();
      const [, primary] = cluster.primaries;
      await primary?.command("acl", "setuser", "default", "-info");
      expect(await store.server()).toBeNull();
      await primary?.command("acl", "setuser", "default", "+info");
      expect(await store.server()).toEqual(server);
    });

    it("warns of eviction on any one primary", async () => {
      expect((await store.memory())?.mayEvict).toBe(false);
      const [, , last] = cluster.primaries;
      await last?.command("config", "set", "maxmemory", "1gb", "maxmemory-policy", "allkeys-lru");
      expect((await store.memory())?.mayEvict).toBe(true);
      await last?.command("config", "set", "maxmemory", "0", "maxmemory-policy", "noeviction");
    });

    it("keeps versions and limits of an account whose hash slot moves to another primary", async () => {
      const account = await knownAccount();
      expect((await admit(account)).kind).toBe("admitted");
      const from = await cluster.primaryOf(account);
      const to = cluster.primaries.find((primary) => primary !== from) ?? from;
      const { connection } = store;
      let hasMoved = false;
      const moving = move(account, from, to).then(() => {
        hasMoved = true;
      });
      // Checks that arrive meanwhile wait.
      while (!hasMoved) expect(await store.check(account, 1n)).toBe("current");
      await moving;
      expect(await cluster.primaryOf(account)).toBe(to);
      await store.publish(account, 2n);
      expect(await store.check(account, 1n)).toBe("stale");
      expect(await store.useOf(account)).toMatchObject({ requests: 1 });
      // The primaries are the same, so nothing is read again.
      expect(store.connection).toBe(connection);
    });

    it("has another identity once any one primary is another process, and admits nothing until it is there", async () => {
      const accounts = await Promise.all(Array.from({ length: 12 }, knownAccount));
      const before = await store.server();
      expect(await store.server()).toEqual(before);
      const [, primary] = cluster.primaries;
      const { connection } = store;
      await primary?.kill();
      await expect.poll(() => store.connection).toBeGreaterThan(connection);
      await expect(store.server()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
      await expect(store.ping()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
      await primary?.start();
      const identity = () =>
        store.server().then(
          (server) => server?.runId ?? null,
          () => null,
        );
      await expect.poll(identity, { timeout: 20_000 }).not.toBe(null);
      expect(await identity()).not.toBe(before?.runId);
      await expect
        .poll(
          () =>
            store.ping().then(
              () => true,
              () => false,
            ),
          { timeout: 20_000 },
        )
        .toBe(true);
      // It has come back empty: it knows nothing of its accounts, and the others know theirs.
      const checked = await Promise.all(accounts.map((account) => store.check(account, 1n)));
      const owners = await Promise.all(accounts.map((account) => cluster.primaryOf(account)));
      expect(checked).toEqual(owners.map((owner) => (owner === primary ? "stale" : "current")));
    });
  },
);

/** Moves the hash slot of an account, as `redis-cli --cluster reshard` does. */
async function move(account: AccountId, from: RedisServer, to: RedisServer): Promise<void> {
  const slot = await from.command("cluster", "keyslot", account);
  const [source, target] = [await from.command("cluster", "myid"), await to.command("cluster", "myid")];
  await to.command("cluster", "setslot", slot, "importing", source);
  await from.command("cluster", "setslot", slot, "migrating", target);
  const keys = (await from.command("cluster", "getkeysinslot", slot, "100")).split("\n");
  await from.command("migrate", "127.0.0.1", String(to.port), "", "0", "5000", "keys", ...keys);
  await to.command("cluster", "setslot", slot, "node", target);
  await from.command("cluster", "setslot", slot, "node", target);
}
