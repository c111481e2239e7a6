import { beforeAll, describe, expect, it } from "vitest";
import { refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

/** What the built-in plans give: 5 USD. */
const STARTING_CREDITS = 5_000_000_000n;

const service = sharedByFile(startOperatedService);
let operator: Visitor;

beforeAll(async () => {
  operator = await signInOperator(service.baseUrl);
});

describe("an operator", () => {
  it("finds accounts by name, user and ID, in pages", async () => {
    const name = `Fi\u00f1d ${crypto.randomUUID()}`;
    const emails: string[] = [];
    for (let number = 0; number < 5; number++) {
      const visitor = visit(service.baseUrl);
      const email = `${crypto.randomUUID()}@example.com`;
      await visitor.trpc.auth.signUp.mutate({ email, password: PASSWORD, accountName: `${name} ${number}` });
      emails.push(email);
    }
    const { list } = operator.trpc.operator.accounts;
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await list.query({
        search: name.toUpperCase(),
        limit: 2,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...page.accounts.flatMap(({ users }) => users.map((user) => user.email)));
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(emails.toReversed());
    const [email = ""] = emails;
    const [byUser] = (await list.query({ search: email.slice(0, 20) })).accounts;
    expect(byUser?.users[0]?.email).toBe(email);
    expect((await list.query({ search: byUser?.id ?? "" })).accounts).toHaveLength(1);
    expect((await list.query({ search: "%" })).accounts).toEqual([]);
    expect((await list.query({ search: name.normalize("NFD") })).accounts).toHaveLength(5);
  });

  it("finds an account by the last four characters of its key, in this case only, and by no other part", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const idsOf = async (search: string) => {
      const { accounts } = await operator.trpc.operator.accounts.list.query({ search });
      return accounts.map((account) => account.id);
    };
    expect(await idsOf(owner.key.slice(-4))).toContain(id);
    expect(await idsOf(owner.key.slice(3, 7))).not.toContain(id);
    expect(await idsOf(owner.key)).toEqual([]);
  });

  it("finds accounts by state and plan, alone and together with a search, and sees their keys and credit", async () => {
    const name = `Filter ${crypto.randomUUID()}`;
    const { accounts } = operator.trpc.operator;
    const made = new Map<string, string>();
    for (const [part, plan] of [
      ["free", "free"],
      ["pro", "pro"],
      ["held", "pro"],
    ] as const) {
      const email = `${crypto.randomUUID()}@example.com`;
      const { account } = await accounts.create.mutate({ email, accountName: `${name} ${part}`, plan });
      made.set(account.id, part);
      if (part === "held") await accounts.suspend.mutate({ id: account.id, reason: "unpaid" });
      if (part === "pro")
        await accounts.grantCredits.mutate({ id: account.id, amountNanoUsd: 7n, reason: "x" });
    }
    const find = async (filter: Parameters<typeof accounts.list.query>[0]) =>
      (await accounts.list.query({ limit: 200, ...filter })).accounts;
    const parts = async (filter: Parameters<typeof accounts.list.query>[0]) =>
      (await find(filter)).flatMap(({ id }) => made.get(id) ?? []);
    expect(await parts({ search: name })).toEqual(["held", "pro", "free"]);
    expect(await parts({ search: name, plan: "pro" })).toEqual(["held", "pro"]);
    expect(await parts({ search: name, plan: "pro", state: "active" })).toEqual(["pro"]);
    expect(await parts({ search: name, state: "suspended" })).toEqual(["held"]);
    expect(await parts({ search: name, plan: "enterprise" })).toEqual([]);
    expect(await parts({ state: "suspended" })).toEqual(["held"]);
    for (const account of await find({ state: "suspended" })) expect(account.state).toBe("suspended");
    const [first, second] = await find({ search: name });
    expect(first).toMatchObject({ plan: "pro", state: "suspended", suspension: { reason: "unpaid" } });
    expect(second).toMatchObject({ activeKeys: 0, balanceNanoUsd: STARTING_CREDITS + 7n });
    const page = await accounts.list.query({ search: name, plan: "pro", limit: 1 });
    expect(page.nextCursor).toBe(first?.id);
    expect(await parts({ search: name, plan: "pro", cursor: page.nextCursor ?? "" })).toEqual(["pro"]);
    expect((await refusalOf(accounts.list.query({ plan: "gold" as "pro" }))).code).toBe("invalid_request");
  });

  it("leaves a record of every change: who, what, before, after, when", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { accounts } = operator.trpc.operator;
    await accounts.suspend.mutate({ id, reason: "unpaid" });
    await accounts.suspend.mutate({ id, reason: "unpaid" });
    await accounts.reinstate.mutate({ id, reason: "paid" });
    await accounts.setPlan.mutate({ id, plan: "enterprise" });
    await accounts.setIpRules.mutate({ id, rules: { networks: ["10.0.0.0/8"] } });
    const limits = { requestsPerMinute: 7, tokensPerMinute: null, concurrentRequests: 2 };
    await accounts.setLimits.mutate({ id, limits });
    const granted = await accounts.grantCredits.mutate({ id, amountNanoUsd: 5n, reason: "welcome" });
    expect(granted.balanceNanoUsd).toBe(STARTING_CREDITS + 5n);
    await accounts.grantCredits.mutate({ id, amountNanoUsd: -2n, reason: "correction" });
    expect(await accounts.get.query({ id })).toMatchObject({ balanceNanoUsd: STARTING_CREDITS + 3n, limits });

    const { actions } = await operator.trpc.operator.audit.query({ accountId: id });
    expect(actions.map(({ action, reason }) => [action, reason])).toEqual([
      ["account.grantCredits", "correction"],
      ["account.grantCredits", "welcome"],
      ["account.setLimits", null],
      ["account.setIpRules", null],
      ["account.setPlan", null],
      ["account.reinstate", "paid"],
      ["account.suspend", "unpaid"],
      ["user.signUp", null],
    ]);
    const suspension = actions.find(({ action }) => action === "account.suspend");
    expect(suspension).toMatchObject({
      userEmail: "operator@example.com",
      by: { managementToken: null, sourceIp: "127.0.0.1" },
      before: { state: "active", suspension: null },
      after: { state: "suspended", suspension: { reason: "unpaid" } },
    });
    expect(suspension?.at.getTime()).toBeGreaterThan(Date.now() - 60_000);
    // The owner reads the same of their own account.
    expect((await owner.trpc.account.actions.query()).actions).toHaveLength(actions.length);
  });

  it("creates accounts when sign-up is closed, and resets a lost password", async () => {
    await using closed = await startService({
      env: {
        OSTIARY_SIGNUP: "closed",
        OSTIARY_OPERATOR_EMAIL: "operator@example.com",
        OSTIARY_OPERATOR_PASSWORD: "an operator's password",
      },
    });
    const admin = await signInOperator(closed.baseUrl);
    expect((await refusalOf(signUp(closed.baseUrl))).code).toBe("permission_denied");
    const email = "first@example.com";
    const { account, password } = await admin.trpc.operator.accounts.create.mutate({
      email,
      accountName: "First",
      plan: "pro",
    });
    expect(account).toMatchObject({ name: "First", plan: "pro", users: [{ email }] });
    const user = visit(closed.baseUrl);
    await user.trpc.auth.signIn.mutate({ email, password });
    expect((await user.trpc.account.get.query()).plan).toBe("pro");

    const reset = await admin.trpc.operator.users.resetPassword.mutate({ email });
    expect(await user.trpc.auth.me.query()).toBeNull();
    expect((await refusalOf(user.trpc.auth.signIn.mutate({ email, password }))).code).toBe(
      "wrong_credentials",
    );
    await user.trpc.auth.signIn.mutate({ email, password: reset.password });
    const again = admin.trpc.operator.accounts.create.mutate({ email, accountName: "Again" });
    expect((await refusalOf(again)).code).toBe("conflict");
  });

  it("is the only one allowed to call operator procedures: owners, keys and management tokens are refused", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const callers = [
      visit(service.baseUrl),
      owner,
      visit(service.baseUrl, { authorization: `Bearer ${owner.key}` }),
      visit(service.baseUrl, { authorization: `Bearer ${token}` }),
    ];
    for (const { trpc } of callers) {
      const { accounts, audit, users } = trpc.operator;
      const limits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };
      const calls = [
        accounts.list.query(),
        accounts.get.query({ id }),
        accounts.create.mutate({ email: "x@example.com", accountName: "X" }),
        accounts.suspend.mutate({ id, reason: "x" }),
        accounts.reinstate.mutate({ id }),
        accounts.setPlan.mutate({ id, plan: "enterprise" }),
        accounts.setIpRules.mutate({ id, rules: { networks: [] } }),
        accounts.tryIpRules.query({ id, address: "127.0.0.1" }),
        accounts.setLimits.mutate({ id, limits }),
        accounts.grantCredits.mutate({ id, amountNanoUsd: 1n, reason: "x" }),
        users.resetPassword.mutate({ email: owner.email }),
        audit.query(),
      ];
      for (const { status } of await Promise.all(calls.map(refusalOf))) expect([401, 403]).toContain(status);
    }
    expect((await owner.trpc.account.get.query()).plan).toBe("free");
  });

  it("has no account of their own", async () => {
    expect(await operator.trpc.auth.me.query()).toMatchObject({ user: { role: "operator" }, account: null });
    expect((await refusalOf(operator.trpc.keys.list.query())).code).toBe("permission_denied");
    expect((await refusalOf(operator.trpc.keys.create.mutate({ name: "x" }))).code).toBe("permission_denied");
  });

  it("keeps a password that they have changed, whatever the settings say", async () => {
    await using first = await startOperatedService();
    const admin = await signInOperator(first.baseUrl);
    await admin.trpc.auth.changePassword.mutate({
      current: "an operator's password",
      next: "another operator's password",
    });
    await first.stop();
    await using second = await startOperatedService({
      dataDir: first.dataDir,
      ...(first.databaseUrl === undefined ? {} : { databaseUrl: first.databaseUrl }),
    });
    expect((await refusalOf(signInOperator(second.baseUrl))).code).toBe("wrong_credentials");
  });
});
