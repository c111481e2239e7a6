import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type AdmissionStore,
  AdmissionStoreUnavailable,
} from "../../server/src/admission/admission-store.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { complaintAbout } from "../../server/src/start/readiness.ts";
import { startRedis } from "../fixtures/redis.ts";
import { startRedisCluster } from "../fixtures/redis-cluster.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;

const PREFIX = `test-${crypto.randomUUID()}`;

/** An implementation, and how it comes to forget what it was told about an account. */
interface Subject {
  readonly store: AdmissionStore;
  forget(account: AccountId): Promise<void>;
}

const implementations: Record<string, () => Promise<Subject>> = {
  memory: async () => {
    const store = new MemoryAdmissionStore(2);
    return {
      store,
      forget: async () => {
        for (const other of [crypto.randomUUID(), crypto.randomUUID()]) {
          await know(store, other as AccountId, 1n);
        }
      },
    };
  },
  ...(REDIS_URL === undefined
    ? {}
    : {
        Redis: async () => {
          const store = await redisStore(REDIS_URL);
          const { Redis } = await import("ioredis");
          return {
            store,
            forget: async (account) => {
              const redis = new Redis(REDIS_URL);
              await redis.del(`${PREFIX}:{${account}}`);
              redis.disconnect();
            },
          };
        },
        "Redis Cluster": async () => {
          const cluster = await startRedisCluster();
          const store = await redisStore(cluster.url);
          const close = store.close.bind(store);
          store.close = async () => {
            await close();
            await cluster[Symbol.asyncDispose]();
          };
          return {
            store,
            forget: async (account) => {
              await (await cluster.primaryOf(account)).command("del", `${PREFIX}:{${account}}`);
            },
          };
        },
      }),
};

/** Makes a store learn a version as it does from a node: read, then committed. */
async function know(store: AdmissionStore, account: AccountId, version: bigint): Promise<void> {
  expect(await store.commitRead(account, version, await store.epoch(account))).toBe(true);
}

async function redisStore(url: string): Promise<RedisAdmissionStore> {
  const store = new RedisAdmissionStore({ url, prefix: PREFIX, commandTimeoutMs: 2_000, onError: () => {} });
  await store.connect();
  return store;
}

describe.each(Object.entries(implementations))("the admission store in %s", (_, open) => {
  let subject: Subject;
  let store: AdmissionStore;
  let account: AccountId;

  beforeAll(async () => {
    subject = await open();
    store = subject.store;
  });

  beforeEach(() => {
    account = crypto.randomUUID() as AccountId;
  });

  afterAll(async () => {
    await store.close();
  });

  it("admits nothing for an account that it does not know", async () => {
    expect(await store.check(account, 1n)).toBe("stale");
  });

  it("admits a snapshot of the current version or a newer one, and none that is older", async () => {
    await know(store, account, 1n);
    await store.publish(account, 7n);
    expect(await store.check(account, 7n)).toBe("current");
    expect(await store.check(account, 8n)).toBe("current");
    expect(await store.check(account, 6n)).toBe("stale");
  });

  it("compares versions as numbers", async () => {
    await know(store, account, 10n);
    expect(await store.check(account, 9n)).toBe("stale");
    await store.publish(account, 9n);
    expect(await store.check(account, 9n)).toBe("stale");
    expect(await store.check(account, 10n)).toBe("current");
  });

  it("accepts a version that a node commits after reading it", async () => {
    const epoch = await store.epoch(account);
    expect(await store.commitRead(account, 3n, epoch)).toBe(true);
    expect(await store.check(account, 3n)).toBe("current");
  });

  it("does not let a node that read an old version undo a later publication", async () => {
    await know(store, account, 3n);
    const epoch = await store.epoch(account);
    await store.publish(account, 4n);
    await store.commitRead(account, 3n, epoch);
    expect(await store.check(account, 3n)).toBe("stale");
    expect(await store.check(account, 4n)).toBe("current");
  });

  it("accepts a read during which other accounts have changed", async () => {
    const other = crypto.randomUUID() as AccountId;
    await know(store, other, 1n);
    const epoch = await store.epoch(account);
    await store.publish(other, 2n);
    await store.publish(other, 3n);
    expect(await store.commitRead(account, 1n, epoch)).toBe(true);
  });

  it("rejects a read from before it forgot its accounts", async () => {
    await know(store, account, 3n);
    const epoch = await store.epoch(account);
    await store.publish(account, 4n);
    await subject.forget(account);
    expect(await store.commitRead(account, 3n, epoch)).toBe(false);
    expect(await store.check(account, 3n)).toBe("stale");
  });

  it("learns nothing from an old publication that arrives after it forgot its accounts", async () => {
    await know(store, account, 5n);
    await store.publish(account, 6n);
    await subject.forget(account);
    // What some node was about to say before version 6 was, and says only now.
    await store.publish(account, 5n);
    expect(await store.check(account, 5n)).toBe("stale");
    await know(store, account, 6n);
    expect(await store.check(account, 5n)).toBe("stale");
    expect(await store.check(account, 6n)).toBe("current");
  });

  it("rejects a read from before a publication about an unknown account", async () => {
    const epoch = await store.epoch(account);
    await store.publish(account, 4n);
    expect(await store.commitRead(account, 3n, epoch)).toBe(false);
    expect(await store.check(account, 3n)).toBe("stale");
    expect(await store.check(account, 4n)).toBe("stale");
  });
});

describe("the admission store in memory", () => {
  it("forgets accounts that were only read, without invalidating concurrent reads", async () => {
    const store = new MemoryAdmissionStore(10);
    const [early] = accounts(1);
    const epoch = await store.epoch();
    for (const account of accounts(1_000)) {
      expect(await store.commitRead(account, 1n, await store.epoch())).toBe(true);
    }
    expect(await store.commitRead(early, 1n, epoch)).toBe(true);
  });

  it("invalidates every read from before a publication that it has forgotten", async () => {
    const store = new MemoryAdmissionStore(10);
    const [[changed], [other]] = [accounts(1), accounts(1)];
    const epoch = await store.epoch();
    // The reader of the database came between the commit and the publication of version 2.
    await store.commitRead(changed, 2n, epoch);
    await store.publish(changed, 2n);
    const afterwards = await store.epoch();
    // Version 3 was read before its publication, which does not make up for that of version 2.
    await store.commitRead(changed, 3n, afterwards);
    for (const account of accounts(100)) await store.commitRead(account, 1n, afterwards);
    expect(await store.commitRead(changed, 1n, epoch)).toBe(false);
    expect(await store.commitRead(other, 1n, epoch)).toBe(false);
    expect(await store.commitRead(changed, 2n, afterwards)).toBe(true);
    expect(await store.check(changed, 1n)).toBe("stale");
  });

  function accounts(count: number): [AccountId, ...AccountId[]] {
    return Array.from({ length: count }, () => crypto.randomUUID() as AccountId) as [
      AccountId,
      ...AccountId[],
    ];
  }
});

describe("the admission store in Redis", () => {
  it("fails as unavailable when Redis does not answer, and neither admits nor refuses", async () => {
    const store = new RedisAdmissionStore({
      // The discard port: nothing listens there.
      url: "redis://127.0.0.1:9",
      prefix: PREFIX,
      commandTimeoutMs: 500,
      onError: () => {},
    });
    await expect(store.connect()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    await expect(store.check(crypto.randomUUID() as AccountId, 1n)).rejects.toBeInstanceOf(
      AdmissionStoreUnavailable,
    );
    await store.close();
  });

  it.runIf(REDIS_URL !== undefined)("says so if Redis refuses its password", async () => {
    await using redis = await startRedis();
    const store = new RedisAdmissionStore({
      url: redis.url.replace("//", "//node:former@"),
      prefix: PREFIX,
      commandTimeoutMs: 2_000,
      onError: () => {},
    });
    await redis.command("acl", "setuser", "node", "on", ">former", "~*", "&*", "+@all");
    await store.connect();
    const complaint = () => store.ping().then(() => null, complaintAbout);
    expect(await complaint()).toBeNull();
    await redis.command("acl", "setuser", "node", "<former", ">later");
    await redis.command("client", "kill", "user", "node");
    await expect.poll(complaint, { timeout: 20_000 }).toBe("refuses the sign-in");
    await store.close();
  });
});
