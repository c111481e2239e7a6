import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dropExpiredSessions } from "../../server/src/accounts/users-store.ts";
import { PostgresNodes } from "../../server/src/admission/nodes-store.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey, visit } from "../fixtures/user.ts";

// What time ends: it passes by a change of the database.
let service: Service;
let sql: ServiceDatabase;

beforeAll(async () => {
  service = await startOperatedService();
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.end();
  await service?.[Symbol.asyncDispose]();
});

const tokenOf = (owner: Owner, name = "script") =>
  owner.trpc.tokens.create.mutate({ name, expiresInDays: 1 });

/** Gives the user of a management token 99 more, the maximum. */
async function fillTokens(tokenId: string): Promise<void> {
  await sql`
    insert into management_tokens (id, user_id, name, token_id, digest, created_at, expires_at)
    select gen_random_uuid(), user_id, 'filler', 'fill', sha256(gen_random_uuid()::text::bytea), created_at, null
    from management_tokens, generate_series(1, 99) where id = ${tokenId}`;
}

describe("a management token", () => {
  it("is refused once its time is over", async () => {
    const owner = await signUp(service.baseUrl);
    const { id, token, createdAt, expiresAt } = await tokenOf(owner);
    expect((expiresAt?.getTime() ?? 0) - createdAt.getTime()).toBe(24 * 60 * 60_000);
    const script = visit(service.baseUrl, { authorization: `Bearer ${token}` });
    expect((await script.trpc.keys.list.query()).keys).toEqual([]);
    await sql`update management_tokens set expires_at = now() - interval '1 second' where id = ${id}`;
    const refused = { status: 401, code: "invalid_management_token" };
    expect(await refusalOf(script.trpc.keys.list.query())).toEqual(refused);
    expect(await refusalOf(script.trpc.keys.create.mutate({ name: "late" }))).toEqual(refused);
  });

  it("is one of at most a hundred that are active, of which expired ones are none", async () => {
    const owner = await signUp(service.baseUrl);
    const first = await tokenOf(owner);
    await fillTokens(first.id);
    const full = { status: 409, code: "key_limit_reached" };
    expect(await refusalOf(tokenOf(owner, "too many"))).toEqual(full);
    await sql`update management_tokens set expires_at = now() - interval '1 second' where id = ${first.id}`;
    expect(await tokenOf(owner, "instead")).toMatchObject({ name: "instead" });
    expect(await refusalOf(tokenOf(owner, "too many"))).toEqual(full);
  });
});

describe("a session", () => {
  it("lasts thirty days, and that of an operator half a day", async () => {
    const { email } = await signUp(service.baseUrl);
    await signInOperator(service.baseUrl);
    const lengths = await sql<{ isOwner: boolean; hours: number }[]>`
      select distinct email = ${email} as "isOwner",
             (extract(epoch from expires_at - sessions.created_at) / 3600)::float8 as hours
      from sessions join users on users.id = user_id
      where email = ${email} or role = 'operator' order by 1`;
    expect([...lengths]).toEqual([
      { isOwner: false, hours: 12 },
      { isOwner: true, hours: 30 * 24 },
    ]);
  });

  it("is refused and listed no more once its time is over", async () => {
    const { email, ...owner } = await signUp(service.baseUrl);
    const { sessions } = await owner.trpc.auth.sessions.query();
    expect(sessions).toHaveLength(1);
    await sql`update sessions set expires_at = now() - interval '1 second' where id = ${sessions[0]?.id ?? ""}`;
    expect(await owner.trpc.auth.me.query()).toBeNull();
    expect((await refusalOf(owner.trpc.keys.list.query())).code).toBe("not_signed_in");
    const again = visit(service.baseUrl);
    await again.trpc.auth.signIn.mutate({ email, password: PASSWORD });
    expect((await again.trpc.auth.sessions.query()).sessions).toMatchObject([{ isCurrent: true }]);
  });
});

describe("the sessions of a user", () => {
  it("are deleted once they have expired, also if the user does not sign in again", async () => {
    const owner = await signUp(service.baseUrl);
    const again = visit(service.baseUrl);
    await again.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    const [current, other] = (await again.trpc.auth.sessions.query()).sessions;
    const ids = [current?.id ?? "", other?.id ?? ""];
    await sql`update sessions set expires_at = now() - interval '2 hours' where id = ${ids[1] ?? ""}`;
    await dropExpiredSessions(sql, new Date());
    const left = await sql<{ id: string }[]>`
      select id from sessions where user_id = (select user_id from sessions where id = ${ids[0] ?? ""})`;
    expect([...left]).toEqual([{ id: ids[0] }]);
  });

  it("are a thousand at most: a new one ends those that were not seen for the longest time", async () => {
    const owner = await signUp(service.baseUrl);
    const [session] = (await owner.trpc.auth.sessions.query()).sessions;
    const old = sql`now() - interval '1 day' - n * interval '1 second'`;
    await sql`
      insert into sessions (id, digest, user_id, created_at, last_seen_at, expires_at)
      select gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), user_id, ${old}, ${old}, expires_at
      from sessions, generate_series(1, 1005) as n where id = ${session?.id ?? ""}`;
    const again = visit(service.baseUrl);
    await again.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    const counted = await sql<{ sessions: number; oldest: number }[]>`
      select count(*)::int as sessions, extract(epoch from now() - min(last_seen_at))::int as oldest
      from sessions where user_id = (select user_id from sessions where id = ${session?.id ?? ""})`;
    expect(counted[0]?.sessions).toBe(1_000);
    expect(counted[0]?.oldest).toBeLessThan(24 * 60 * 60 + 1_000);
    expect((await owner.trpc.auth.me.query())?.user.email).toBe(owner.email);
    expect((await again.trpc.auth.me.query())?.user.email).toBe(owner.email);
  });
});

describe("the idempotency key of a new key", () => {
  it("can be used for another one after a day", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const idempotencyKey = crypto.randomUUID();
    const first = await trpc.keys.create.mutate({ name: "first", idempotencyKey });
    const other = () => trpc.keys.create.mutate({ name: "other", idempotencyKey });
    await sql`update keys set issued_at = now() - interval '23 hours' where id = ${first.id}`;
    expect((await refusalOf(other())).code).toBe("idempotency_key_reused");
    await sql`update keys set issued_at = now() - interval '25 hours' where id = ${first.id}`;
    const second = await other();
    expect(second.id).not.toBe(first.id);
    const { keys } = await trpc.keys.list.query();
    expect(keys.map(({ name, state }) => [name, state])).toEqual([
      ["other", "active"],
      ["first", "active"],
    ]);
  });

  it("gets no string for a key that was revoked before it was used", async () => {
    const { trpc } = await signUp(service.baseUrl);
    const call = { name: "mistake", idempotencyKey: crypto.randomUUID() };
    const { id } = await trpc.keys.create.mutate(call);
    await sql`update keys set issued_at = now() - interval '1 hour' where id = ${id}`;
    await trpc.keys.revoke.mutate({ id });
    expect((await refusalOf(trpc.keys.create.mutate(call))).code).toBe("conflict");
  });
});

describe("the answer to a request with an idempotency key", () => {
  it("is repeated for a day", async () => {
    const { trpc, key } = await signUpWithKey(service.baseUrl);
    const { id } = await trpc.account.get.query();
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": "once",
    };
    const body = JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] });
    const isRepeated = async () => {
      const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers,
        body,
      });
      expect(response.status).toBe(200);
      await response.text();
      return response.headers.has("idempotency-replayed");
    };
    expect(await isRepeated()).toBe(false);
    for (const [hours, expected] of [
      [23, true],
      [25, false],
    ] as const) {
      await sql`
        update idempotent_requests set created_at = now() - ${hours} * interval '1 hour' where account_id = ${id}`;
      expect(await isRepeated(), `${hours} hours later`).toBe(expected);
    }
  });
});

describe("an address from which a key was used", () => {
  it("is listed for thirty days", async () => {
    const { trpc, key, id } = await signUpWithKey(service.baseUrl);
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    const addresses = async () => (await trpc.keys.addresses.query({ id })).addresses.map(({ ip }) => ip);
    expect(await addresses()).toEqual(["127.0.0.1"]);
    await sql`update key_addresses set last_seen_at = now() - interval '29 days' where key = ${id}`;
    expect(await addresses()).toEqual(["127.0.0.1"]);
    await sql`update key_addresses set last_seen_at = now() - interval '31 days' where key = ${id}`;
    expect(await addresses()).toEqual([]);
  });
});

describe("a node that shares Redis and was killed", () => {
  it("is removed after thirty days, but not because the database's clock has jumped", async () => {
    const enter = (label: string, coordination: string, days: number) => sql`
      insert into nodes (id, coordination, label, seen_at, life)
      values (gen_random_uuid(), ${coordination}, ${label}, now() - make_interval(days => ${days}), gen_random_uuid())`;
    await enter("killed", "redis", 31);
    await enter("running", "redis", 31);
    await enter("absent", "redis", 29);
    await enter("alone", "alone", 31);
    const labels = async () =>
      (await sql<{ label: string }[]>`select label from nodes order by label`).map(({ label }) => label);
    const before = await labels();
    const nodes = new PostgresNodes(sql);
    await nodes.removeAbsent();
    expect(await labels()).toEqual(before);
    // It is seen by the clock that has jumped.
    await sql`update nodes set seen_at = now() - interval '30 days 1 hour' where label = 'running'`;
    await nodes.removeAbsent();
    expect(await labels()).toEqual(before.filter((label) => label !== "killed"));
    await nodes.removeAbsent();
    expect(await labels()).toEqual(before.filter((label) => label !== "killed" && label !== "running"));
    await sql`delete from nodes where label in ('absent', 'alone')`;
  });
});
