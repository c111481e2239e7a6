import { describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { refusalOf } from "../fixtures/operator.ts";
import { outcomeOf, statusOf } from "../fixtures/request.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

const service = sharedByFile(() => startService({ env: { TRUSTED_PROXIES: "127.0.0.1" } }));

async function activeKeys({ trpc }: Owner): Promise<number> {
  return (await trpc.keys.list.query()).keys.filter(({ state }) => state === "active").length;
}

describe("a key's name", () => {
  it.each(["", " ", "x".repeat(65), "a\nb", "a\u0000b", "a\u202eb", "a\ud800b", "\u200b"])(
    "%j is refused",
    async (name) => {
      const owner = await signUp(service.baseUrl);
      expect((await refusalOf(owner.trpc.keys.create.mutate({ name }))).code).toBe("invalid_request");
    },
  );

  it("is unique among the account's active keys, free after revocation, and independent of other accounts", async () => {
    const owner = await signUp(service.baseUrl);
    const first = await owner.trpc.keys.create.mutate({ name: "production" });
    expect((await refusalOf(owner.trpc.keys.create.mutate({ name: "production" }))).code).toBe("conflict");
    await (await signUp(service.baseUrl)).trpc.keys.create.mutate({ name: "production" });
    await owner.trpc.keys.revoke.mutate({ id: first.id });
    expect((await owner.trpc.keys.create.mutate({ name: "production" })).name).toBe("production");
  });

  it("goes to one of two concurrent creations", async () => {
    const owner = await signUp(service.baseUrl);
    const creations = Array.from({ length: 8 }, () => owner.trpc.keys.create.mutate({ name: "the one" }));
    const outcomes = await Promise.allSettled(creations);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await activeKeys(owner)).toBe(1);
  });
});

describe("creating a key again with the same idempotency key", () => {
  /** Puts the creation of a key so far into the past that its answer is no longer on its way. */
  async function makeIssuedEarlier(id: string): Promise<void> {
    await using sql = await openDatabaseOf(service);
    await sql`update keys set issued_at = issued_at - interval '10 seconds' where id = ${id}`;
  }

  it("makes no second key, and replaces the first one's string when it may be lost", async () => {
    const owner = await signUp(service.baseUrl);
    const call = { name: "production", idempotencyKey: crypto.randomUUID() };
    const lost = await owner.trpc.keys.create.mutate(call);
    // The first answer may still be on its way: a second string must not take the place of one that is about to be used.
    expect(await refusalOf(owner.trpc.keys.create.mutate(call))).toEqual({ status: 409, code: "conflict" });
    expect(await activeKeys(owner)).toBe(1);
    const again = await expect
      .poll(() => owner.trpc.keys.create.mutate(call).catch(() => null), { interval: 500 })
      .not.toBeNull()
      .then(() => owner.trpc.keys.list.query());
    expect(again.keys.map(({ id, name }) => [id, name])).toEqual([[lost.id, "production"]]);
    expect(again.keys[0]?.keyId).not.toBe(lost.keyId);
    expect(await outcomeOf(service.baseUrl, lost.key)).toEqual({ status: 401, code: "invalid_api_key" });
    const { actions } = await owner.trpc.account.actions.query();
    expect(actions.map(({ action, after }) => [action, after?.id, after?.keyId]).slice(0, 2)).toEqual([
      ["key.reissue", lost.id, again.keys[0]?.keyId],
      ["key.create", lost.id, lost.keyId],
    ]);
  });

  it("never replaces the string of a key that is in use", async () => {
    const owner = await signUp(service.baseUrl);
    const call = { name: "production", idempotencyKey: crypto.randomUUID() };
    const { id, key } = await owner.trpc.keys.create.mutate(call);
    await makeIssuedEarlier(id);
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    await owner.trpc.audit.list.query();
    await expect(owner.trpc.keys.create.mutate(call)).rejects.toThrow("has been used or revoked since");
    expect(await statusOf(service.baseUrl, key)).toBe(200);
  });

  it("ends the string that it replaces, also where that was admitted a moment ago", async () => {
    const owner = await signUp(service.baseUrl);
    const call = { name: "production", idempotencyKey: crypto.randomUUID() };
    const { id, key } = await owner.trpc.keys.create.mutate(call);
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    await owner.trpc.audit.list.query();
    // As if the entry of the request were not recorded yet.
    await using sql = await openDatabaseOf(service);
    await sql`delete from key_usage where key = ${id}`;
    await makeIssuedEarlier(id);
    const again = await owner.trpc.keys.create.mutate(call);
    expect(again).toMatchObject({ id, name: "production" });
    expect(await outcomeOf(service.baseUrl, key)).toEqual({ status: 401, code: "invalid_api_key" });
    expect(await statusOf(service.baseUrl, again.key)).toBe(200);
  });

  it("is refused when the input differs", async () => {
    const owner = await signUp(service.baseUrl);
    const idempotencyKey = crypto.randomUUID();
    await owner.trpc.keys.create.mutate({ name: "one", idempotencyKey });
    const other = owner.trpc.keys.create.mutate({ name: "two", idempotencyKey });
    expect(await refusalOf(other)).toEqual({ status: 422, code: "idempotency_key_reused" });
    const stranger = await signUp(service.baseUrl);
    await stranger.trpc.keys.create.mutate({ name: "two", idempotencyKey });
  });

  it("is refused when the rotation is of another key, or to be reported idle after another time", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.keys.create.mutate({ name: "production" });
    const { id: otherId } = await owner.trpc.keys.create.mutate({ name: "staging" });
    const call = { id, idempotencyKey: crypto.randomUUID(), idleAfterSeconds: 3_600 };
    await owner.trpc.keys.rotate.mutate(call);
    for (const other of [{ idleAfterSeconds: 60 }, { id: otherId }]) {
      const again = owner.trpc.keys.rotate.mutate({ ...call, ...other });
      expect(await refusalOf(again)).toEqual({ status: 422, code: "idempotency_key_reused" });
    }
  });

  it("is told that the first successor was revoked, whichever name a successor would get now", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.keys.create.mutate({ name: "production" });
    const call = { id, idempotencyKey: crypto.randomUUID() };
    const first = await owner.trpc.keys.rotate.mutate(call);
    expect(first.name).toBe("production 2");
    await owner.trpc.keys.revoke.mutate({ id: first.id });
    await owner.trpc.keys.create.mutate({ name: first.name });
    const told = `"production 2" (…${first.keyId}), which has been used or revoked since`;
    await expect(owner.trpc.keys.rotate.mutate(call)).rejects.toThrow(told);
    await owner.trpc.keys.rotate.mutate({ id, name: "chosen" });
    await expect(owner.trpc.keys.rotate.mutate(call)).rejects.toThrow(told);
    expect((await refusalOf(owner.trpc.keys.rotate.mutate(call))).code).toBe("conflict");
  });

  it("makes one key when all calls arrive concurrently", async () => {
    const owner = await signUp(service.baseUrl);
    const call = { name: "production", idempotencyKey: crypto.randomUUID() };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => owner.trpc.keys.create.mutate(call)),
    );
    const made = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.key] : []));
    expect(made).toHaveLength(1);
    expect(await activeKeys(owner)).toBe(1);
    expect(await statusOf(service.baseUrl, made[0] ?? "")).toBe(200);
  });
});

describe("a key's usage", () => {
  it("is up to date: how often, when last, from where and from how many addresses", async () => {
    const owner = await signUp(service.baseUrl);
    const { key, id, createdAt } = await owner.trpc.keys.create.mutate({ name: "watched" });
    const unused = {
      createdAt,
      revokedAt: null,
      lastUsedAt: null,
      lastUsedIp: null,
      addresses: 0,
      requestsLastMinute: 0,
      requestsLastHour: 0,
      requestsLastDay: 0,
    };
    expect(await owner.trpc.keys.usage.query({ id })).toMatchObject(unused);
    for (const address of ["192.0.2.1", "2001:db8::1", "192.0.2.1", "unknown"]) {
      expect(await statusOf(service.baseUrl, key, { "x-forwarded-for": address })).toBe(200);
    }
    const used = await owner.trpc.keys.usage.query({ id });
    expect(used).toMatchObject({
      id,
      state: "active",
      lastUsedIp: null,
      addresses: 2,
      requestsLastMinute: 4,
      requestsLastHour: 4,
      requestsLastDay: 4,
      rotation: null,
    });
    expect(used.lastUsedAt?.getTime()).toBeGreaterThan(Date.now() - 60_000);
    await statusOf(service.baseUrl, key, { "x-forwarded-for": "198.51.100.7" });
    const { keys } = await owner.trpc.keys.list.query();
    expect(keys[0]?.usage).toMatchObject({ lastUsedIp: "198.51.100.7", addresses: 3, requestsLastMinute: 5 });
  });

  it("covers requests of the last hour and day, and addresses of the last 30 days", async () => {
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "watched" });
    for (const address of ["192.0.2.1", "192.0.2.2"])
      expect(await statusOf(service.baseUrl, key, { "x-forwarded-for": address })).toBe(200);
    const { requestsLastDay } = await owner.trpc.keys.usage.query({ id });
    expect(requestsLastDay).toBe(2);
    await using sql = await openDatabaseOf(service);
    await sql`
      update key_addresses set last_seen_at = now() - interval '721 hours' where key = ${id} and source_ip = '192.0.2.1'`;
    for (const [ago, hour, day] of [
      ["59 minutes", 2, 2],
      ["63 minutes", 0, 2],
      ["23 hours", 0, 2],
      ["25 hours", 0, 0],
    ] as const) {
      await sql`delete from key_usage_minutes where key = ${id}`;
      await sql`insert into key_usage_minutes values (${id}, date_trunc('minute', now() - ${ago}::interval), 2)`;
      expect(await owner.trpc.keys.usage.query({ id }), ago).toMatchObject({
        addresses: 1,
        requestsLastHour: hour,
        requestsLastDay: day,
      });
    }
    const { addresses } = await owner.trpc.keys.addresses.query({ id });
    expect(addresses.map(({ ip }) => ip)).toEqual(["192.0.2.2"]);
    expect((await owner.trpc.keys.list.query()).keys[0]?.usage.addresses).toBe(1);
  });

  it("includes attempts with the key after its revocation", async () => {
    const owner = await signUp(service.baseUrl);
    const { key, id } = await owner.trpc.keys.create.mutate({ name: "leaked" });
    await owner.trpc.keys.revoke.mutate({ id });
    expect(await statusOf(service.baseUrl, key, { "x-forwarded-for": "203.0.113.66" })).toBe(401);
    expect(await owner.trpc.keys.usage.query({ id })).toMatchObject({
      state: "revoked",
      lastUsedIp: "203.0.113.66",
      requestsLastMinute: 1,
    });
  });

  it("can't be read by other accounts", async () => {
    const owner = await signUp(service.baseUrl);
    const { id, key } = await owner.trpc.keys.create.mutate({ name: "mine" });
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    expect((await owner.trpc.keys.count.query()).areUsed).toBe(true);
    const stranger = await signUp(service.baseUrl);
    expect(await stranger.trpc.keys.count.query()).toEqual({ active: 0, revoked: 0, areUsed: false });
    expect((await refusalOf(stranger.trpc.keys.usage.query({ id }))).code).toBe("not_found");
    expect((await refusalOf(stranger.trpc.keys.rotate.mutate({ id }))).code).toBe("not_found");
    const named = stranger.trpc.keys.rotate.mutate({ id, name: "theirs" });
    expect((await refusalOf(named)).code).toBe("not_found");
    expect((await refusalOf(stranger.trpc.keys.revoke.mutate({ id }))).code).toBe("not_found");
  });
});

describe("the list of keys", () => {
  it("has the active keys first and each state's newest first, also in pages", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const ids = new Map<string, string>();
    for (const name of ["a", "b", "c", "d"]) ids.set(name, (await trpc.keys.create.mutate({ name })).id);
    for (const name of ["b", "d"]) await trpc.keys.revoke.mutate({ id: ids.get(name) ?? "" });
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await trpc.keys.list.query({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      names.push(...page.keys.map(({ name }) => name));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(names).toEqual(["c", "a", "d", "b"]);
  });
});

describe("a revocation", () => {
  it("is recorded once, with the time of the first call, however often and concurrently it is called", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.keys.create.mutate({ name: "production" });
    const first = await Promise.all(Array.from({ length: 4 }, () => owner.trpc.keys.revoke.mutate({ id })));
    const later = await owner.trpc.keys.revoke.mutate({ id });
    expect(first).toEqual(Array.from({ length: 4 }, () => later));
    const { actions } = await owner.trpc.account.actions.query();
    expect(actions.filter(({ action }) => action === "key.revoke")).toEqual([
      expect.objectContaining({ at: later.revokedAt }),
    ]);
  });
});

describe("a key rotation", () => {
  it("works in order: create, migrate, watch, revoke", async () => {
    const owner = await signUp(service.baseUrl);
    const old = await owner.trpc.keys.create.mutate({ name: "production" });
    expect(await statusOf(service.baseUrl, old.key)).toBe(200);
    const next = await owner.trpc.keys.rotate.mutate({ id: old.id, idleAfterSeconds: 60 });
    expect(next).toMatchObject({ name: "production 2", replaces: old.id, state: "active" });
    // The old key is idle from the rotation on at the earliest: before it, the new one could not be used.
    const before = await owner.trpc.keys.usage.query({ id: old.id });
    expect(before.rotation?.idleSince).toEqual(next.createdAt);

    // Both work while deployments move over.
    expect(await statusOf(service.baseUrl, next.key)).toBe(200);
    expect(await statusOf(service.baseUrl, old.key, { "x-forwarded-for": "192.0.2.44" })).toBe(200);
    const { rotation, lastUsedAt, lastUsedIp } = await owner.trpc.keys.usage.query({ id: old.id });
    expect(rotation).toEqual({
      successorId: next.id,
      idleAfterSeconds: 60,
      idleSince: lastUsedAt,
      isIdle: false,
    });
    expect(lastUsedIp).toBe("192.0.2.44");

    await owner.trpc.keys.revoke.mutate({ id: old.id });
    // With the other key's request the node has read the account after the revocation, and what it knows of the old key is from before.
    expect(await statusOf(service.baseUrl, next.key)).toBe(200);
    expect(await outcomeOf(service.baseUrl, old.key)).toEqual({ status: 401, code: "revoked_api_key" });
    expect(await statusOf(service.baseUrl, next.key)).toBe(200);
    const { keys } = await owner.trpc.keys.list.query();
    expect(keys.map(({ name, state, replaces }) => [name, state, replaces])).toEqual([
      ["production 2", "active", old.id],
      ["production", "revoked", null],
    ]);
    const { actions } = await owner.trpc.account.actions.query();
    const recorded = actions.find(({ action }) => action === "key.rotate");
    expect(recorded?.after).toMatchObject({ id: next.id, replaces: old.id });
  });

  it("can be repeated from successor to successor, each with its own name", async () => {
    const owner = await signUp(service.baseUrl);
    let { id } = await owner.trpc.keys.create.mutate({ name: "x".repeat(64) });
    const names: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const next = await owner.trpc.keys.rotate.mutate({ id });
      names.push(next.name);
      id = next.id;
    }
    expect(names).toEqual([2, 3, 4].map((number) => `${"x".repeat(62)} ${number}`));
    const named = await owner.trpc.keys.rotate.mutate({ id, name: "chosen" });
    expect(named.name).toBe("chosen");
  });

  it("gives successors of several keys different names when all are rotated concurrently", async () => {
    const owner = await signUp(service.baseUrl);
    const names = ["production", ...[2, 3, 4, 5, 6].map((number) => `production ${number}`)];
    const keys = await Promise.all(names.map((name) => owner.trpc.keys.create.mutate({ name })));
    const successors = await Promise.all(keys.map(({ id }) => owner.trpc.keys.rotate.mutate({ id })));
    expect(successors.map(({ replaces }) => replaces)).toEqual(keys.map(({ id }) => id));
    expect(successors.map(({ name }) => name).sort()).toEqual(
      [7, 8, 9, 10, 11, 12].map((number) => `production ${number}`).sort(),
    );
  });

  it("makes one successor, however often it is called", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.keys.create.mutate({ name: "production" });
    const call = { id, idempotencyKey: crypto.randomUUID() };
    const outcomes = await Promise.allSettled([
      owner.trpc.keys.rotate.mutate(call),
      owner.trpc.keys.rotate.mutate(call),
      owner.trpc.keys.rotate.mutate({ id }),
      owner.trpc.keys.rotate.mutate({ id, name: "other" }),
    ]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await activeKeys(owner)).toBe(2);
  });

  it("is refused for a key that is revoked or already rotated", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.keys.create.mutate({ name: "production" });
    const next = await owner.trpc.keys.rotate.mutate({ id });
    expect((await refusalOf(owner.trpc.keys.rotate.mutate({ id }))).code).toBe("conflict");
    // A successor that is not wanted after all makes room for another.
    await owner.trpc.keys.revoke.mutate({ id: next.id });
    await owner.trpc.keys.rotate.mutate({ id });
    await owner.trpc.keys.revoke.mutate({ id });
    expect((await refusalOf(owner.trpc.keys.rotate.mutate({ id }))).code).toBe("conflict");
  });
});

describe("a rotation at the plan's number of active keys", () => {
  /** An account with the 50 active keys of its plan. */
  async function fullAccount() {
    const owner = await signUp(service.baseUrl);
    const keys: { readonly id: string }[] = [];
    for (let number = 0; number < 50; number++) {
      keys.push(await owner.trpc.keys.create.mutate({ name: `key ${number}` }));
    }
    const [first, second] = keys;
    if (first === undefined || second === undefined) throw new Error("no keys were created");
    const create = () => owner.trpc.keys.create.mutate({ name: crypto.randomUUID() });
    return { ...owner, owner, first, second, create };
  }

  it("may exceed it until one of the two keys is revoked", async () => {
    const { trpc, owner, first, second, create } = await fullAccount();
    const successor = await trpc.keys.rotate.mutate({ id: first.id });
    expect(await activeKeys(owner)).toBe(51);
    expect((await refusalOf(create())).code).toBe("key_limit_reached");
    await trpc.keys.revoke.mutate({ id: first.id });
    expect((await refusalOf(create())).code).toBe("key_limit_reached");
    // The successor is a key like every other one now.
    await trpc.keys.rotate.mutate({ id: successor.id });
    const unwanted = await trpc.keys.rotate.mutate({ id: second.id });
    expect(await activeKeys(owner)).toBe(52);
    await trpc.keys.revoke.mutate({ id: unwanted.id });
    await trpc.keys.revoke.mutate({ id: successor.id });
    expect(await activeKeys(owner)).toBe(50);
    expect((await refusalOf(create())).code).toBe("key_limit_reached");
    await trpc.keys.revoke.mutate({ id: second.id });
    expect((await create()).state).toBe("active");
  });

  it("makes one successor of concurrent calls, and no key besides", async () => {
    const { trpc, owner, first, create } = await fullAccount();
    const rotations = Array.from({ length: 6 }, () => trpc.keys.rotate.mutate({ id: first.id }));
    const creations = Array.from({ length: 6 }, create);
    const outcomes = await Promise.allSettled([...rotations, ...creations]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await activeKeys(owner)).toBe(51);
  });

  it("does not go on from successor to successor while the keys before are active", async () => {
    const { trpc, owner, first } = await fullAccount();
    const successor = await trpc.keys.rotate.mutate({ id: first.id });
    const next = trpc.keys.rotate.mutate({ id: successor.id });
    expect(await refusalOf(next)).toEqual({ status: 409, code: "key_limit_reached" });
    expect(await activeKeys(owner)).toBe(51);
  });
});
