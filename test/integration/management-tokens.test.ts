import { describe, expect, it } from "vitest";
import { refusalOf } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUp, visit } from "../fixtures/user.ts";

const service = sharedByFile(startService);

describe("a management token", () => {
  it("lets a script act as its user, except for anything that would let a leaked token persist", async () => {
    const owner = await signUp(service.baseUrl);
    const created = await owner.trpc.tokens.create.mutate({ name: "deploy", expiresInDays: 30 });
    expect(created.token).toMatch(/^mt-[0-9A-Za-z]{49}$/);
    const script = visit(service.baseUrl, { authorization: `Bearer ${created.token}` });
    const { id, key } = await script.trpc.keys.create.mutate({ name: "by script" });
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    expect((await script.trpc.keys.list.query()).keys).toHaveLength(1);
    expect((await script.trpc.audit.list.query()).entries).toHaveLength(1);
    await script.trpc.keys.revoke.mutate({ id });
    expect(await statusOf(service.baseUrl, key)).toBe(401);

    const refused = await Promise.all(
      [
        script.trpc.tokens.create.mutate({ name: "successor" }),
        script.trpc.tokens.list.query(),
        script.trpc.tokens.revoke.mutate({ id: created.id }),
        script.trpc.auth.changePassword.mutate({ current: "x", next: "another long password" }),
        script.trpc.auth.sessions.query(),
        script.trpc.auth.signOutAll.mutate(),
      ].map(refusalOf),
    );
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(["permission_denied"]));

    const { tokens } = await owner.trpc.tokens.list.query();
    expect(tokens).toMatchObject([
      { name: "deploy", tokenId: created.token.slice(-4), revokedAt: null, lastUsedIp: "127.0.0.1" },
    ]);
    expect(JSON.stringify(tokens)).not.toContain(created.token);
    const { actions } = await owner.trpc.account.actions.query();
    expect(actions[0]).toMatchObject({ action: "key.revoke", by: { managementToken: created.id } });

    await owner.trpc.tokens.revoke.mutate({ id: created.id });
    expect(await refusalOf(script.trpc.keys.list.query())).toEqual({
      status: 401,
      code: "invalid_management_token",
    });
  });

  it("takes precedence over a session that a browser sends along", async () => {
    const owner = await signUp(service.baseUrl);
    const stranger = await signUp(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const both = visit(service.baseUrl, {
      authorization: `Bearer ${token}`,
      cookie: stranger.cookie(),
    });
    expect((await both.trpc.auth.me.query())?.user.email).toBe(owner.email);
  });

  it("is visible only to its own user", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.tokens.create.mutate({ name: "mine" });
    const stranger = await signUp(service.baseUrl);
    expect((await refusalOf(stranger.trpc.tokens.revoke.mutate({ id }))).code).toBe("not_found");
    expect((await stranger.trpc.tokens.list.query()).tokens).toEqual([]);
  });
});

describe("an API key", () => {
  it("reads its account and changes nothing", async () => {
    const owner = await signUp(service.baseUrl);
    const { id, key } = await owner.trpc.keys.create.mutate({ name: "reader" });
    const { trpc } = visit(service.baseUrl, { authorization: `Bearer ${key}` });
    expect((await trpc.account.get.query()).plan).toBe("free");
    expect((await trpc.keys.list.query()).keys).toHaveLength(1);
    expect((await trpc.keys.usage.query({ id })).name).toBe("reader");
    expect((await trpc.models.list.query()).models.length).toBeGreaterThan(0);
    expect((await trpc.account.tryAddress.query({ address: "192.0.2.1" })).verdict).toBe("passes");
    const refused = await Promise.all(
      [
        trpc.keys.create.mutate({ name: "successor" }),
        trpc.keys.rotate.mutate({ id }),
        trpc.keys.revoke.mutate({ id }),
        trpc.tokens.create.mutate({ name: "successor" }),
        trpc.tokens.list.query(),
        trpc.auth.sessions.query(),
        trpc.auth.signOutAll.mutate(),
        trpc.account.actions.query(),
      ].map(refusalOf),
    );
    expect(refused).toEqual(refused.map(() => ({ status: 403, code: "permission_denied" })));
  });
});
