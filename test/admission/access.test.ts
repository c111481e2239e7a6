import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { Access } from "../../server/src/access/access.ts";
import { SnapshotCache } from "../../server/src/access/snapshot-cache.ts";
import { IpRuleBook } from "../../server/src/accounts/ip-rules.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import { NO_IP_RULES, NO_OVERRIDES } from "../../server/src/contract/account.ts";
import type { KeySnapshot, KeyUuid } from "../../server/src/contract/key.ts";
import { type Limits, UNLIMITED } from "../../server/src/contract/limits.ts";
import { KeyMint } from "../../server/src/keys/key-string.ts";
import { ACCOUNT } from "./simulated-database.ts";

const mint = new KeyMint(new Uint8Array(32));
const [ONE, OTHER] = [mint.mint(), mint.mint()];
const RULES = { mode: "enforce", networks: ["192.0.2.0/24"] } as const;
const INSIDE = "192.0.2.1";
const OUTSIDE = "198.51.100.1";

/** What the database has of the account, and the state of each of its keys. */
let account: KeySnapshot["account"];
let states: Map<string, KeySnapshot["key"]["state"]>;
let limits: Limits;
let reads: number;
/** Called when the database has read a key, before it answers. */
let beforeAnswer: () => Promise<void>;
let admissions: Admissions;
let access: Access;

const digestOf = (key: string) => createHash("sha256").update(key).digest();
const headerOf = (key: string) => [`Bearer ${key}`];
const idOf = (key: string) => key as KeyUuid;
const refusal = (code: string) => ({ failure: { code } });

beforeEach(() => {
  account = {
    id: ACCOUNT,
    state: "active",
    plan: "enterprise",
    ipRules: NO_IP_RULES,
    limits: NO_OVERRIDES,
    version: 1n,
  };
  states = new Map([ONE, OTHER].map((key) => [key, "active"]));
  limits = UNLIMITED;
  reads = 0;
  beforeAnswer = async () => {};
  admissions = new Admissions(new MemoryAdmissionStore(100, () => 0));
  access = new Access({
    lookup: {
      findKeyByDigest: async (digest) => {
        reads++;
        const [found] = [...states].filter(([key]) => digestOf(key).equals(digest));
        const snapshot =
          found === undefined
            ? null
            : { key: { id: idOf(found[0]), keyId: "abcd", state: found[1] }, account };
        await beforeAnswer();
        return snapshot;
      },
      findDigest: async (accountId, id) => (accountId === ACCOUNT && states.has(id) ? digestOf(id) : null),
    },
    admissions,
    limitsOf: () => limits,
    mint,
    ipRules: new IpRuleBook(),
  });
});

/** Changes the account, and publishes that to all nodes. */
async function change(changes: Partial<KeySnapshot["account"]>): Promise<void> {
  account = { ...account, ...changes, version: account.version + 1n };
  await admissions.publish(ACCOUNT, account.version);
}

describe("a key string", () => {
  it("is not looked up if another installation has minted it, and once if it does not exist", async () => {
    const foreign = new KeyMint(new Uint8Array(32).fill(1)).mint();
    const unknown = mint.mint();
    const authenticate = async (key: string) => access.authenticate(headerOf(key));
    await expect(authenticate(foreign)).rejects.toMatchObject({ code: "invalid_api_key" });
    expect(reads).toBe(0);
    await expect(authenticate(unknown)).rejects.toMatchObject({ code: "invalid_api_key" });
    expect(reads).toBe(1);
    await expect(authenticate(unknown)).rejects.toMatchObject({ code: "invalid_api_key" });
    expect(reads).toBe(1);
  });

  it("is read once for all requests that wait for it, and again after a change", async () => {
    await access.authenticate(headerOf(ONE));
    await change({});
    const caller = await access.authenticate(headerOf(ONE));
    const before = reads;
    await Promise.all(Array.from({ length: 10 }, () => access.authorize(caller, null)));
    expect(reads).toBe(before + 1);
    await change({});
    await access.authorize(caller, null);
    expect(reads).toBe(before + 2);
  });

  it("tells the account that shares capacity only while it is that of a key, alone in its header", async () => {
    const known = () => access.accountIfKnown(headerOf(ONE));
    const authenticate = async () => access.authenticate(headerOf(ONE));
    expect(known()).toBeNull();
    await authenticate();
    expect(known()).toBe(ACCOUNT);
    expect(access.accountIfKnown([...headerOf(ONE), ...headerOf(ONE)])).toBeNull();
    expect(access.accountIfKnown([])).toBeNull();
    // Its key has got another string, and the snapshots were dropped.
    states.delete(ONE);
    admissions.fence("for a test");
    admissions.lift();
    await expect(authenticate()).rejects.toMatchObject({ code: "invalid_api_key" });
    expect(known()).toBeNull();
  });

  it("that was replaced is refused by all requests from then on", async () => {
    const caller = await access.authenticate(headerOf(ONE));
    states.delete(ONE);
    await change({});
    await expect(access.authorize(caller, null)).rejects.toMatchObject({ code: "invalid_api_key" });
    const before = reads;
    const authenticate = async () => access.authenticate(headerOf(ONE));
    await expect(authenticate()).rejects.toMatchObject({ code: "invalid_api_key" });
    expect(reads).toBe(before);
  });

  it("is found by the id of its key, in its account only", async () => {
    const other = crypto.randomUUID() as typeof ACCOUNT;
    expect(await access.authenticateAs(ACCOUNT, idOf("none"))).toBeNull();
    expect(await access.authenticateAs(other, idOf(ONE))).toBeNull();
    const caller = await access.authenticateAs(ACCOUNT, idOf(ONE));
    expect(caller).toMatchObject({ snapshot: { key: { id: ONE } } });
    if (caller !== null) expect(await access.authorize(caller, null)).toMatchObject({ admitted: null });
  });
});

describe("the cache of snapshots", () => {
  it("shares an account among its keys, and keeps the newest one if reads end in another order", () => {
    const cache = new SnapshotCache();
    const snapshotOf = (key: string, version: bigint): KeySnapshot => ({
      key: { id: idOf(key), keyId: "abcd", state: "active" },
      account: { ...account, version },
    });
    const held = cache.set("one", snapshotOf("one", 2n));
    const older = snapshotOf("other", 1n);
    expect(cache.set("other", older)).toBe(older);
    expect(cache.get("one")?.account).toBe(held.account);
    expect(cache.get("other")).toBeUndefined();
    expect(cache.set("other", snapshotOf("other", 2n)).account).toBe(held.account);
    expect(cache.get("other")?.account).toBe(held.account);
    const newer = snapshotOf("other", 3n);
    expect(cache.set("other", newer).account).toBe(newer.account);
    expect(cache.get("one")).toBeUndefined();
  });
});

describe("a request", () => {
  it("is refused for its key first, then for its account, and then for its address", async () => {
    account = { ...account, state: "suspended", ipRules: RULES };
    states.set(ONE, "revoked");
    const by = async (key: string, address: string) => {
      const caller = await access.authenticate(headerOf(key));
      return [access.authorize(caller, address), access.authorizeAndAdmit(caller, address, 1)];
    };
    for (const asked of await by(ONE, OUTSIDE))
      await expect(asked).rejects.toMatchObject(refusal("revoked_api_key"));
    for (const asked of await by(OTHER, OUTSIDE))
      await expect(asked).rejects.toMatchObject(refusal("account_suspended"));
    await change({ state: "active" });
    for (const asked of await by(OTHER, OUTSIDE))
      await expect(asked).rejects.toMatchObject(refusal("ip_blocked"));
    for (const asked of await by(OTHER, INSIDE)) expect(await asked).toMatchObject({ wouldRefuse: null });
    await change({ ipRules: { ...RULES, mode: "report" } });
    for (const asked of await by(OTHER, OUTSIDE))
      expect(await asked).toMatchObject({ wouldRefuse: "ip_blocked" });
    limits = { ...UNLIMITED, concurrentRequests: 1 };
    const caller = await access.authenticate(headerOf(OTHER));
    await expect(access.authorizeAndAdmit(caller, OUTSIDE, 1)).rejects.toMatchObject({
      failure: { code: "too_many_concurrent_requests" },
      wouldRefuse: "ip_blocked",
    });
  });

  it("is decided by the present state, whatever its caller was found with", async () => {
    const active = await access.authenticate(headerOf(ONE));
    await change({ state: "suspended" });
    await expect(access.authorize(active, null)).rejects.toMatchObject(refusal("account_suspended"));
    const suspended = await access.authenticate(headerOf(ONE));
    expect(access.seemsRefused(suspended, null)).toBe(true);
    await change({ state: "active" });
    expect(await access.authorize(suspended, null)).toMatchObject({ wouldRefuse: null });
    expect((await access.authorizeAndAdmit(suspended, null, 1)).admitted).not.toBeNull();
  });

  it("is refused after a change that was published while its key was read", async () => {
    let isPublished = false;
    beforeAnswer = async () => {
      if (isPublished || reads < 2) return;
      isPublished = true;
      await change({ state: "suspended" });
    };
    const caller = await access.authenticate(headerOf(ONE));
    expect(access.seemsRefused(caller, null)).toBe(false);
    // What was read before is not kept.
    expect(access.seemsRefused(await access.authenticate(headerOf(ONE)), null)).toBe(true);
    await expect(access.authorize(caller, null)).rejects.toMatchObject(refusal("account_suspended"));
  });

  it("is refused for a revoked key whose state was read before the store was lost, which agrees with it", async () => {
    beforeAnswer = async () => {
      if (reads !== 2) return;
      states.set(ONE, "revoked");
      admissions.fence("for a test");
      admissions.lift();
    };
    const caller = await access.authenticate(headerOf(ONE));
    expect(access.seemsRefused(caller, null)).toBe(false);
    await expect(access.authorize(caller, null)).rejects.toMatchObject(refusal("revoked_api_key"));
  });

  it("of a revoked key is refused though another key of the account was read since", async () => {
    await access.authenticate(headerOf(ONE));
    states.set(ONE, "revoked");
    await change({});
    const other = await access.authenticate(headerOf(OTHER));
    await access.authorize(other, null);
    const caller = await access.authenticate(headerOf(ONE));
    await expect(access.authorizeAndAdmit(caller, null, 1)).rejects.toMatchObject(refusal("revoked_api_key"));
  });

  it("without tokens passes the limit on tokens, and waits of more than 59 seconds are told in parts", async () => {
    limits = { ...UNLIMITED, tokensPerMinute: 10 };
    const caller = await access.authenticate(headerOf(ONE));
    const { admitted } = await access.authorizeAndAdmit(caller, null, 10);
    // It has taken more than was estimated.
    await admitted?.end(20);
    await expect(access.authorizeAndAdmit(caller, null, 1)).rejects.toMatchObject({
      failure: { code: "rate_limit_exceeded", retryAfterMs: 59_000 },
    });
    expect((await access.authorizeAndAdmit(caller, null, 0)).admitted).not.toBeNull();
  });
});
