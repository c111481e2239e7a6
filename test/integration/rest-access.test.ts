import { beforeAll, describe, expect, it } from "vitest";
import {
  type EnterpriseOwner,
  signInOperator,
  signUpEnterprise,
  startOperatedService,
} from "../fixtures/operator.ts";
import { openRaw } from "../fixtures/raw-http.ts";
import { statusOf } from "../fixtures/request.ts";
import { type RestReply, type RestRequest, sendRest } from "../fixtures/rest.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUp, type Visitor } from "../fixtures/user.ts";

const service = sharedByFile(startOperatedService);
let operator: Visitor;

beforeAll(async () => {
  operator = await signInOperator(service.baseUrl);
});

function send(method: string, path: string, request?: RestRequest): Promise<RestReply> {
  return sendRest(service.baseUrl, method, path, request);
}

interface Account extends EnterpriseOwner {
  readonly key: string;
  readonly keyUuid: string;
  readonly token: string;
}

async function newAccount(): Promise<Account> {
  const owner = await signUpEnterprise(service.baseUrl, operator);
  const { key, id: keyUuid } = await owner.trpc.keys.create.mutate({ name: "reader" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
  return { ...owner, key, keyUuid, token };
}

const READS = [
  ...["/v1/keys", "/v1/account", "/v1/account/limits", "/v1/audit/summary"],
  ...["/v1/credits", "/v1/credits/ledger", "/v1/credits/statement"],
];

/** Operations that change something, for a key's id. */
const changesOf = (id: string) =>
  [
    ["POST", "/v1/keys", { name: "made" }],
    ["POST", `/v1/keys/${id}/rotate`, {}],
    ["POST", `/v1/keys/${id}/revoke`, undefined],
    ["DELETE", `/v1/keys/${id}`, undefined],
  ] as const;

async function entriesOf({ trpc }: Visitor) {
  return (await trpc.audit.list.query({ limit: 1_000 })).entries;
}

describe("a management operation", () => {
  it("refuses requests without a credential, with an unknown one, and with a session's cookie", async () => {
    const account = await newAccount();
    const unknown = [
      {},
      { credential: `${account.key.slice(0, -1)}_` },
      { credential: `${account.token.slice(0, -1)}_` },
      { headers: { cookie: account.cookie() } },
    ];
    for (const request of unknown) {
      for (const path of READS) {
        const { status, headers } = await send("GET", path, request);
        expect(status, path).toBe(401);
        expect(headers.get("www-authenticate")).toBe("Bearer");
      }
      for (const [method, path, body] of changesOf(account.keyUuid)) {
        expect((await send(method, path, { ...request, body })).status, path).toBe(401);
      }
    }
    expect((await account.trpc.keys.list.query()).keys).toMatchObject([{ state: "active", name: "reader" }]);
  });

  it("that changes something refuses an API key, and says what to use", async () => {
    const { key, keyUuid, trpc } = await newAccount();
    for (const [method, path, body] of changesOf(keyUuid)) {
      const refused = await send(method, path, { credential: key, body });
      expect(refused).toMatchObject({ status: 403, body: { error: { code: "permission_denied" } } });
      expect(refused.body.error.message).toContain("management token");
    }
    expect((await send("GET", "/v1/account/actions", { credential: key })).status).toBe(403);
    expect((await trpc.keys.list.query()).keys).toMatchObject([{ state: "active", name: "reader" }]);
  });

  it("refuses revoked keys and tokens", async () => {
    const { key, keyUuid, token, trpc } = await newAccount();
    const { tokens } = await trpc.tokens.list.query();
    await trpc.keys.revoke.mutate({ id: keyUuid });
    await trpc.tokens.revoke.mutate({ id: tokens[0]?.id ?? "" });
    const byKey = await send("GET", "/v1/keys", { credential: key });
    expect(byKey).toMatchObject({ status: 401, body: { error: { code: "revoked_api_key" } } });
    const byToken = await send("GET", "/v1/keys", { credential: token });
    expect(byToken).toMatchObject({ status: 401, body: { error: { code: "invalid_management_token" } } });
  });

  it("refuses a key or token before it says what is wrong with the body", async () => {
    const { key, keyUuid, token, accountId: id, trpc } = await newAccount();
    const spare = await trpc.keys.create.mutate({ name: "spare" });
    const { accounts } = operator.trpc.operator;
    const wrong: readonly (readonly [status: number, request: RestRequest])[] = [
      [400, { body: [] }],
      [413, { body: { name: "x".repeat(20_000) } }],
      [415, { body: {}, headers: { "content-type": "text/plain" } }],
    ];
    const answersTo = async (credential: string) => {
      const sent = wrong.map(([, request]) => send("POST", "/v1/keys", { credential, ...request }));
      return (await Promise.all(sent)).map(({ status, body }) => [status, body.error.code]);
    };
    const all = (status: number, code: string) => wrong.map(() => [status, code]);
    for (const credential of [key, token]) {
      expect((await answersTo(credential)).map(([status]) => status)).toEqual(
        wrong.map(([status]) => status),
      );
    }
    await trpc.keys.revoke.mutate({ id: keyUuid });
    expect(await answersTo(key)).toEqual(all(401, "revoked_api_key"));
    await accounts.suspend.mutate({ id, reason: "test" });
    expect(await answersTo(key)).toEqual(all(401, "revoked_api_key"));
    expect(await answersTo(spare.key)).toEqual(all(403, "account_suspended"));
    expect(await answersTo(token)).toEqual(all(403, "account_suspended"));
    await accounts.reinstate.mutate({ id });
    const { tokens } = await trpc.tokens.list.query();
    await trpc.tokens.revoke.mutate({ id: tokens[0]?.id ?? "" });
    expect(await answersTo(token)).toEqual(all(401, "invalid_management_token"));
  });

  it("refuses keys and tokens of a suspended account, and outside the account's IP rules", async () => {
    const { key, token, accountId: id, keyUuid } = await newAccount();
    const { accounts } = operator.trpc.operator;
    const expectRefused = async (code: string) => {
      for (const credential of [key, token]) {
        for (const path of READS) {
          expect(await send("GET", path, { credential })).toMatchObject({
            status: 403,
            body: { error: { code } },
          });
        }
      }
      for (const [method, path, body] of changesOf(keyUuid)) {
        expect(await send(method, path, { credential: token, body })).toMatchObject({
          status: 403,
          body: { error: { code } },
        });
      }
    };
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24"], mode: "enforce" } });
    await expectRefused("ip_blocked");
    await accounts.setIpRules.mutate({ id, rules: { networks: [] } });
    await accounts.suspend.mutate({ id, reason: "test" });
    await expectRefused("account_suspended");
    await accounts.reinstate.mutate({ id });
    expect((await send("GET", "/v1/keys", { credential: token })).status).toBe(200);
  });

  it("finds no keys of other accounts, and none that do not exist", async () => {
    const [mine, other] = [await newAccount(), await newAccount()];
    for (const id of [other.keyUuid, crypto.randomUUID()]) {
      const paths = [
        ["GET", `/v1/keys/${id}/usage`, undefined],
        ["GET", `/v1/keys/${id}/addresses`, undefined],
        ...changesOf(id).slice(1),
      ] as const;
      for (const [method, path, body] of paths) {
        expect(await send(method, path, { credential: mine.token, body }), path).toMatchObject({
          status: 404,
          body: { error: { code: "not_found", param: "id" } },
        });
      }
    }
    expect(await statusOf(service.baseUrl, other.key)).toBe(200);
    const cursors = (await other.trpc.credits.ledger.query()).entries.map(({ id }) => id);
    const { body } = await send("GET", `/v1/credits/ledger?cursor=${cursors[0]}`, { credential: mine.token });
    for (const id of cursors) expect(JSON.stringify(body)).not.toContain(id);
  });

  it("refuses operators, who have no account", async () => {
    const { token: credential } = await operator.trpc.tokens.create.mutate({ name: crypto.randomUUID() });
    for (const path of READS) expect((await send("GET", path, { credential })).status, path).toBe(403);
    const created = await send("POST", "/v1/keys", { credential, body: { name: "x" } });
    expect(created).toMatchObject({ status: 403, body: { error: { code: "permission_denied" } } });
  });

  it("acts by a token that is still valid when the body is complete", async () => {
    const { token, trpc } = await newAccount();
    using connection = await openRaw(service.baseUrl);
    const body = JSON.stringify({ name: "late" });
    connection.send(
      `POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    const { tokens } = await trpc.tokens.list.query();
    await trpc.tokens.revoke.mutate({ id: tokens[0]?.id ?? "" });
    connection.send(body.slice(5));
    expect(await connection.answer()).toMatchObject({ status: 401 });
    expect((await trpc.keys.list.query()).keys.map(({ name }) => name)).toEqual(["reader"]);
  });
});

describe("a management request with a key", () => {
  it("has an audit entry, whatever its answer", async () => {
    const account = await newAccount();
    const { key: credential, keyUuid: id } = account;
    const requests = [
      ["GET", "/v1/keys", undefined, "GET /v1/keys", 200],
      ["HEAD", "/v1/account", undefined, "HEAD /v1/account", 200],
      ["GET", `/v1/keys/${id}/usage`, undefined, "GET /v1/keys/{id}/usage", 200],
      ["GET", `/v1/keys/${crypto.randomUUID()}/usage`, undefined, "GET /v1/keys/{id}/usage", 404],
      ["GET", "/v1/usage?from=x", undefined, "GET /v1/usage", 400],
      ["POST", "/v1/keys", { name: "x" }, "POST /v1/keys", 403],
      ["POST", "/v1/keys", { name: "x".repeat(20_000) }, "POST /v1/keys", 413],
      ["DELETE", `/v1/keys/${id}`, undefined, "DELETE /v1/keys/{id}", 403],
      ["PUT", "/v1/keys", undefined, "PUT /v1/keys", 405],
      ["GET", "/v1/credits/nothing", undefined, "GET /v1/credits/nothing", 404],
    ] as const;
    for (const [method, path, body, endpoint, status] of requests) {
      const { headers } = await send(method, path, { credential, body });
      const entries = await entriesOf(account);
      const entry = entries.find(({ requestId }) => requestId === headers.get("x-request-id"));
      expect(entry, `${method} ${path}`).toMatchObject({ endpoint, status, costNanoUsd: 0n });
    }
    expect(await entriesOf(account)).toHaveLength(requests.length);
  });

  it("has an audit entry that says what IP rules in report mode would have refused", async () => {
    const account = await newAccount();
    const rules = { networks: ["192.0.2.0/24"], mode: "report" as const };
    await operator.trpc.operator.accounts.setIpRules.mutate({ id: account.accountId, rules });
    await send("GET", "/v1/keys", { credential: account.key });
    expect(await entriesOf(account)).toMatchObject([{ status: 200, wouldRefuse: "ip_blocked" }]);
  });
});

describe("management requests over the limit per minute", () => {
  it("are refused for their key or token only, together with its calls of procedures", async () => {
    const account = await newAccount();
    const { key, token } = account;
    const startMs = performance.now();
    // A batch of procedures takes most of the minute's calls.
    const names = Array.from({ length: 20 }, () => "account.get").join(",");
    for (let batch = 0; batch < 29; batch++) {
      const url = `${service.baseUrl}/trpc/${names}?batch=1&input={}`;
      await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).arrayBuffer();
    }
    let passed = 0;
    let refused: RestReply | null = null;
    while (refused === null) {
      const reply = await send("GET", "/v1/account", { credential: key });
      if (reply.status === 429) refused = reply;
      else passed++;
      if (passed > 600) break;
    }
    const minutes = (performance.now() - startMs) / 60_000;
    expect(passed).toBeGreaterThanOrEqual(20);
    expect(passed).toBeLessThanOrEqual(20 + 600 * minutes);
    expect(refused).toMatchObject({ status: 429, body: { error: { code: "rate_limit_exceeded" } } });
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await send("GET", "/v1/account", { credential: token })).status).toBe(200);
    // The limit is of management calls: models answer.
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    const limited = (await entriesOf(account)).filter(({ errorCode }) => errorCode === "rate_limit_exceeded");
    expect(limited.length).toBeGreaterThanOrEqual(1);
  });

  it("do not count against the account's limits on requests to models", async () => {
    const account = await signUp(service.baseUrl);
    const { id } = await account.trpc.account.get.query();
    const limits = { requestsPerMinute: 1, tokensPerMinute: null, concurrentRequests: null };
    await operator.trpc.operator.accounts.setLimits.mutate({ id, limits });
    const { key: credential } = await account.trpc.keys.create.mutate({ name: "reader" });
    for (let request = 0; request < 5; request++) {
      const { status, headers } = await send("GET", "/v1/account/limits", { credential });
      expect(status).toBe(200);
      expect(headers.get("x-ratelimit-limit-requests")).toBeNull();
    }
    expect((await send("GET", "/v1/account/limits", { credential })).body).toMatchObject({
      limits: { requests_per_minute: 1, tokens_per_minute: null },
      used: { requests: 0 },
    });
  });
});
