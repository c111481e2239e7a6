import { beforeAll, describe, expect, it } from "vitest";
import { insertKeys } from "../fixtures/keys.ts";
import { refusalOf, signInOperator, signUpEnterprise, startOperatedService } from "../fixtures/operator.ts";
import { outcomeOf, sendChat } from "../fixtures/request.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

const service = sharedByFile(startOperatedService);
let operator: Visitor;

beforeAll(async () => {
  operator = await signInOperator(service.baseUrl);
});

describe("a suspended account", () => {
  it("is refused as soon as the suspension is answered, until it is reinstated", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const chatStatus = async () => {
      const response = await sendChat(service.baseUrl, owner.key);
      await response.arrayBuffer();
      return response.status;
    };
    expect(await outcomeOf(service.baseUrl, owner.key)).toEqual({ status: 200, code: null });
    expect(await chatStatus()).toBe(200);
    await operator.trpc.operator.accounts.suspend.mutate({ id, reason: "unpaid" });
    expect(await chatStatus()).toBe(403);
    expect(await outcomeOf(service.baseUrl, owner.key)).toEqual({ status: 403, code: "account_suspended" });
    expect((await owner.trpc.account.get.query()).suspension?.reason).toBe("unpaid");
    await operator.trpc.operator.accounts.reinstate.mutate({ id, reason: "paid" });
    expect(await chatStatus()).toBe(200);
    expect(await outcomeOf(service.baseUrl, owner.key)).toEqual({ status: 200, code: null });
    expect((await owner.trpc.account.get.query()).suspension).toBeNull();
  });

  it("gets 401 for a revoked key, which takes precedence over the suspension", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    await operator.trpc.operator.accounts.suspend.mutate({ id, reason: "leak" });
    expect(await outcomeOf(service.baseUrl, owner.key)).toEqual({ status: 401, code: "revoked_api_key" });
  });

  it("can be read by its owner, who can revoke keys and create none", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await operator.trpc.operator.accounts.suspend.mutate({ id, reason: "leak" });
    expect((await owner.trpc.keys.list.query()).keys).toHaveLength(1);
    expect(await refusalOf(owner.trpc.keys.create.mutate({ name: "another" }))).toEqual({
      status: 403,
      code: "account_suspended",
    });
    expect((await owner.trpc.keys.revoke.mutate({ id: owner.id })).state).toBe("revoked");
  });
});

describe("a plan", () => {
  it("that allows fewer keys keeps existing ones, says so, and allows no new one", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await operator.trpc.operator.accounts.setPlan.mutate({ id, plan: "pro" });
    await insertKeys(service, owner, 49);
    const keys = await Promise.all(
      ["one", "two", "three"].map((name) => owner.trpc.keys.create.mutate({ name })),
    );
    const { notices } = await operator.trpc.operator.accounts.setPlan.mutate({ id, plan: "free" });
    expect(notices.join()).toMatch(/52 active keys.*allows 50/);
    for (const { key } of keys) expect((await outcomeOf(service.baseUrl, key)).status).toBe(200);
    for (const key of keys.slice(0, 2)) {
      expect((await refusalOf(owner.trpc.keys.create.mutate({ name: "more" }))).code).toBe(
        "key_limit_reached",
      );
      await owner.trpc.keys.revoke.mutate({ id: key.id });
    }
    // 50 are left: as many as the plan allows.
    expect((await refusalOf(owner.trpc.keys.create.mutate({ name: "more" }))).code).toBe("key_limit_reached");
    await owner.trpc.keys.revoke.mutate({ id: keys[2]?.id ?? "" });
    expect((await owner.trpc.keys.create.mutate({ name: "more" })).state).toBe("active");
  });

  it("with room for one more key gives it to one of two concurrent creations", async () => {
    for (let round = 0; round < 3; round++) {
      const owner = await signUp(service.baseUrl);
      await insertKeys(service, owner, 49);
      const racers = Array.from({ length: 8 }, (_, number) =>
        owner.trpc.keys.create.mutate({ name: `racer ${number}` }).then(
          () => "created",
          (error) => error.data.ostiary.code,
        ),
      );
      const outcomes = await Promise.all(racers);
      expect(outcomes.sort()).toEqual(["created", ...Array(7).fill("key_limit_reached")]);
    }
  });
});

describe("IP rules", () => {
  it("apply to an account as long as it is on the enterprise plan", async () => {
    const owner = await signUpEnterprise(service.baseUrl, operator);
    const { key } = await owner.trpc.keys.create.mutate({ name: "ruled" });
    const rules = { networks: ["192.0.2.0/24"] };
    const set = { id: owner.accountId, rules };
    await operator.trpc.operator.accounts.setIpRules.mutate(set);
    expect(await outcomeOf(service.baseUrl, key)).toEqual({ status: 403, code: "ip_blocked" });
    expect((await owner.trpc.account.get.query()).ipRulesInForce).toBe(true);

    const left = await operator.trpc.operator.accounts.setPlan.mutate({ id: owner.accountId, plan: "pro" });
    expect(left.notices.join()).toContain("no longer enforced");
    expect((await outcomeOf(service.baseUrl, key)).status).toBe(200);
    expect(await owner.trpc.account.get.query()).toMatchObject({ ipRulesInForce: false, ipRules: rules });

    const back = await operator.trpc.operator.accounts.setPlan.mutate({
      id: owner.accountId,
      plan: "enterprise",
    });
    expect(back.notices.join()).toContain("now enforced");
    expect((await outcomeOf(service.baseUrl, key)).status).toBe(403);

    await operator.trpc.operator.accounts.setIpRules.mutate({ ...set, rules: { networks: [] } });
    expect((await outcomeOf(service.baseUrl, key)).status).toBe(200);
  });

  it("in report mode admit every request, and the entry says which they would have refused", async () => {
    const owner = await signUpEnterprise(service.baseUrl, operator);
    const { key } = await owner.trpc.keys.create.mutate({ name: "watched" });
    await operator.trpc.operator.accounts.setIpRules.mutate({
      id: owner.accountId,
      rules: { mode: "report", networks: ["192.0.2.0/24"] },
    });
    expect((await outcomeOf(service.baseUrl, key)).status).toBe(200);
    await operator.trpc.operator.accounts.setIpRules.mutate({
      id: owner.accountId,
      rules: { mode: "report", networks: ["127.0.0.0/8", "::1"] },
    });
    expect((await outcomeOf(service.baseUrl, key)).status).toBe(200);
    const { entries } = await owner.trpc.audit.list.query();
    expect(entries.map((entry) => entry.wouldRefuse)).toEqual([null, "ip_blocked"]);
    const page = await fetch(`${service.baseUrl}/v1/audit`, { headers: { authorization: `Bearer ${key}` } });
    expect((await page.json()).data.map((entry: { would_refuse: string }) => entry.would_refuse)).toEqual([
      null,
      "ip_blocked",
    ]);
  });

  it("in report mode also mark requests and calls that a limit refuses", async () => {
    const owner = await signUpEnterprise(service.baseUrl, operator);
    const { accountId: id } = owner;
    const { key } = await owner.trpc.keys.create.mutate({ name: "watched" });
    const { accounts } = operator.trpc.operator;
    await accounts.setIpRules.mutate({ id, rules: { mode: "report", networks: ["192.0.2.0/24"] } });
    await accounts.setLimits.mutate({ id, limits: { requestsPerMinute: 1 } });
    const authorization = `Bearer ${key}`;
    const chat = async () => {
      const { status } = await fetch(`${service.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] }),
      });
      return status;
    };
    expect([await chat(), await chat()]).toEqual([200, 429]);
    const calls = Array.from({ length: 20 }, () => "account.get").join(",");
    const batch = async () =>
      (await fetch(`${service.baseUrl}/trpc/${calls}?batch=1&input={}`, { headers: { authorization } }))
        .status;
    for (let sent = 0; (await batch()) !== 429; sent++) expect(sent).toBeLessThan(200);
    const { entries } = await owner.trpc.audit.list.query({ limit: 1_000 });
    const limited = entries.filter(({ status }) => status === 429);
    expect(limited.map(({ endpoint }) => endpoint.split(/[?,]/)[0])).toEqual([
      "GET /trpc/account.get",
      "POST /v1/chat/completions",
    ]);
    expect(new Set(entries.map(({ wouldRefuse }) => wouldRefuse))).toEqual(new Set(["ip_blocked"]));
  });

  it("apply to management tokens, and never to sessions", async () => {
    const owner = await signUpEnterprise(service.baseUrl, operator);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    await operator.trpc.operator.accounts.setIpRules.mutate({
      id: owner.accountId,
      rules: { networks: ["192.0.2.0/24"] },
    });
    const script = visit(service.baseUrl, { authorization: `Bearer ${token}` });
    expect(await refusalOf(script.trpc.keys.list.query())).toEqual({ status: 403, code: "ip_blocked" });
    const audit = await fetch(`${service.baseUrl}/v1/audit`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(audit.status).toBe(403);
    expect((await owner.trpc.keys.list.query()).keys).toEqual([]);
  });

  it("with an invalid network are refused as a whole", async () => {
    const owner = await signUpEnterprise(service.baseUrl, operator);
    for (const wrong of [
      "10.0.0.0/33",
      "10.1",
      "0x7f.1",
      "example.com",
      "",
      "::/129",
      "10.0.0.1 ",
      "fe80::1%eth0",
    ]) {
      const call = operator.trpc.operator.accounts.setIpRules.mutate({
        id: owner.accountId,
        rules: { networks: ["192.0.2.1", wrong] },
      });
      // Space around an entry is no part of it.
      if (wrong.trim() === "10.0.0.1") await call;
      else expect((await refusalOf(call)).code, wrong).toBe("invalid_request");
    }
  });
});
