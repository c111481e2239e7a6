import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startRedis } from "../fixtures/redis.ts";
import { statusOf } from "../fixtures/request.ts";
import { ROOT, runToExit, startService } from "../fixtures/service.ts";
import { PASSWORD, signUpWithKey, visit } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

describe.skipIf(!isDistributed)("a service whose user of Redis may do little", () => {
  it("starts with the permissions that the message and the documentation name, and needs no more", async () => {
    await using redis = await startRedis();
    const url = redis.url.replace("redis://", "redis://service:secret@");
    const env = { REDIS_URL: url, OSTIARY_REDIS_PREFIX: "acme" };
    const user = ["ACL", "SETUSER", "service", "on", ">secret", "resetchannels", "~acme:*"];
    await redis.command(...user, "+@read", "+@write", "+@connection", "+@scripting", "+@transaction");
    await using before = await startService({ env: { REDIS_URL: redis.url } });
    const { code, reasons } = await runToExit({ env, databaseUrl: before.databaseUrl ?? "" });
    expect(code).toBe(1);
    expect(reasons).toEqual([expect.stringMatching(/may not run TIME\. Allow .* (~acme:\* .*)$/)]);

    await redis.command("ACL", "LOG", "RESET");
    const rule = /~acme:\*[^,]*/.exec(reasons[0] ?? "")?.[0] ?? "";
    const guide = await readFile(join(ROOT, "docs/how-to/run-several-nodes.md"), "utf8");
    expect(guide).toContain(`resetchannels ${rule.trim().replace("acme", "ostiary")}\n`);
    await redis.command("ACL", "SETUSER", "service", "reset", "on", ">secret", ...rule.trim().split(" "));
    await using service = await startService({ env });
    const owner = await signUpWithKey(service.baseUrl);
    expect(await statusOf(service.baseUrl, owner.key)).toBe(200);
    await visit(service.baseUrl).trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    const [key] = (await owner.trpc.keys.list.query({})).keys;
    await owner.trpc.keys.revoke.mutate({ id: key?.id ?? "" });
    expect(await statusOf(service.baseUrl, owner.key)).toBe(401);
    expect((await redis.command("ACL", "LOG")).trim()).toBe("");
  });
});
