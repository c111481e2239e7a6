import { beforeAll, describe, expect, it } from "vitest";
import { createAppRouter } from "../../server/src/management/router.ts";
import type { RpcServices } from "../../server/src/management/rpc-services.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

/** Whom each procedure is for. A new one must be added here: what it refuses is a decision. */
const AUDIENCES = {
  /** Also those who have not signed in. */
  everyone: ["service.info", "auth.signUp", "auth.signIn", "auth.signOut", "auth.me"],
  /** The account's users, their management tokens and its API keys. */
  readers: [
    ...["get", "firstSteps", "limits", "tryAddress"].map((name) => `account.${name}`),
    ...["list", "get", "count", "usage", "addresses"].map((name) => `keys.${name}`),
    ...["list", "get", "summary", "tail", "verify"].map((name) => `audit.${name}`),
    ...["usage.summary", "usage.performance"],
    ...["balance", "statement", "ledger"].map((name) => `credits.${name}`),
    "models.list",
  ],
  /** The account's users and their management tokens. */
  changers: [
    ...["create", "rotate", "revoke"].map((name) => `keys.${name}`),
    ...["actions", "exportActions", "verifyActions"].map((name) => `account.${name}`),
  ],
  /** Users and operators who have signed in. */
  people: [
    ...["sessions", "endSession", "signOutAll", "changePassword"].map((name) => `auth.${name}`),
    ...["list", "create", "revoke"].map((name) => `tokens.${name}`),
  ],
  /** Operators and their management tokens: all procedures of this router. */
  operators: ["operator."],
} as const;

type Audience = keyof typeof AUDIENCES;

interface Procedure {
  readonly name: string;
  readonly type: string;
}

/** The procedures of the service, without the parts that they work with. */
function allProcedures(): readonly Procedure[] {
  const part: unknown = new Proxy(() => {}, { get: () => part, apply: () => part });
  const { procedures } = createAppRouter(part as RpcServices)._def;
  const definitions = procedures as unknown as Readonly<
    Record<string, { readonly _def: { readonly type: string } }>
  >;
  return Object.entries(definitions).map(([name, { _def }]) => ({ name, type: _def.type }));
}

function audienceOf(name: string): Audience | undefined {
  const audiences = Object.keys(AUDIENCES) as Audience[];
  return audiences.find((audience) =>
    AUDIENCES[audience].some((known) => known === name || (known === "operator." && name.startsWith(known))),
  );
}

const service = sharedByFile(startOperatedService);
let owner: Owner;
let operator: Visitor;

beforeAll(async () => {
  owner = await signUp(service.baseUrl);
  operator = await signInOperator(service.baseUrl);
});

/** Refusals of a caller. Whatever else an answer says, the caller was allowed to ask. */
const REFUSALS = new Set([
  "not_signed_in",
  "permission_denied",
  "invalid_management_token",
  "revoked_api_key",
  "account_suspended",
]);

/** Calls a procedure without an input. Who may not call it is refused before the input is looked at. */
async function call({ name, type }: Procedure, headers: Readonly<Record<string, string>>): Promise<string> {
  const method = type === "mutation" ? "POST" : "GET";
  const aborted = new AbortController();
  const response = await fetch(`${service.baseUrl}/trpc/${name}`, {
    method,
    headers: { ...headers, ...(method === "POST" ? { "content-type": "application/json" } : {}) },
    signal: aborted.signal,
  });
  // A subscription goes on, or begins with its error.
  const reader = response.body?.getReader();
  let text = "";
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    text += new TextDecoder().decode(part.value);
    if (type === "subscription" && text.endsWith("\n\n") && text.split("\ndata: ").length > 2) break;
  }
  aborted.abort();
  const code = /"ostiary":\{"code":"([a-z_]+)"/.exec(text)?.[1];
  return code !== undefined && REFUSALS.has(code) ? code : "allowed";
}

const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
const cookieOf = (visitor: Visitor) => ({ cookie: visitor.cookie() });

async function suspended() {
  const account = await signUpWithKey(service.baseUrl);
  const { token } = await account.trpc.tokens.create.mutate({ name: "script" });
  const { id } = await account.trpc.account.get.query();
  await operator.trpc.operator.accounts.suspend.mutate({ id, reason: "unpaid" });
  return { ...account, token };
}

type Outcomes = Readonly<Record<Audience, string>>;

/** The same outcome for all of a caller's calls. */
const always = (code: string): Outcomes => ({
  everyone: code,
  readers: code,
  changers: code,
  people: code,
  operators: code,
});
const STRANGER: Outcomes = { ...always("not_signed_in"), everyone: "allowed" };
const DENIED: Outcomes = { ...always("permission_denied"), everyone: "allowed" };
const OWNER: Outcomes = { ...always("allowed"), operators: "permission_denied" };

const CALLERS: readonly (readonly [
  caller: string,
  headers: () => Promise<Readonly<Record<string, string>>>,
  outcomes: Outcomes,
])[] = [
  ["a stranger", async () => ({}), STRANGER],
  [
    "someone whose session has ended",
    async () => {
      const visitor = visit(service.baseUrl);
      await visitor.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
      const cookie = visitor.cookie();
      await visitor.trpc.auth.signOut.mutate();
      return { cookie };
    },
    STRANGER,
  ],
  [
    "someone whose session began before the password was changed",
    async () => {
      const user = await signUp(service.baseUrl);
      const cookie = user.cookie();
      await user.trpc.auth.changePassword.mutate({ current: PASSWORD, next: "another long password" });
      return { cookie };
    },
    STRANGER,
  ],
  ["a user of an account", async () => cookieOf(owner), OWNER],
  ["a user of a suspended account", async () => cookieOf(await suspended()), OWNER],
  [
    "a management token",
    async () => bearer((await owner.trpc.tokens.create.mutate({ name: "script" })).token),
    { ...OWNER, people: "permission_denied" },
  ],
  [
    "a management token that was revoked",
    async () => {
      const { id, token } = await owner.trpc.tokens.create.mutate({ name: "revoked" });
      await owner.trpc.tokens.revoke.mutate({ id });
      return bearer(token);
    },
    always("invalid_management_token"),
  ],
  [
    "a management token of a suspended account",
    async () => bearer((await suspended()).token),
    always("account_suspended"),
  ],
  [
    "an API key",
    async () => bearer((await owner.trpc.keys.create.mutate({ name: "app" })).key),
    { ...DENIED, readers: "allowed" },
  ],
  [
    "an API key that was revoked, though its user is signed in",
    async () => {
      const { id, key } = await owner.trpc.keys.create.mutate({ name: "revoked" });
      await owner.trpc.keys.revoke.mutate({ id });
      return { ...bearer(key), ...cookieOf(owner) };
    },
    always("revoked_api_key"),
  ],
  [
    "an API key of a suspended account",
    async () => bearer((await suspended()).key),
    always("account_suspended"),
  ],
  ["an operator", async () => cookieOf(operator), { ...DENIED, people: "allowed", operators: "allowed" }],
  [
    "a management token of an operator",
    async () => bearer((await operator.trpc.tokens.create.mutate({ name: "script" })).token),
    { ...DENIED, operators: "allowed" },
  ],
];

/** Those that need no input and would end the session of the calls that follow. */
const ENDS_SESSION = ["auth.signOut", "auth.signOutAll"];

describe("a procedure", () => {
  it("is for callers that were decided on", () => {
    const undecided = allProcedures().filter(({ name }) => audienceOf(name) === undefined);
    expect(undecided).toEqual([]);
    const names = new Set(allProcedures().map(({ name }) => name));
    const known = Object.values(AUDIENCES).flat();
    expect(known.filter((name) => name !== "operator." && !names.has(name))).toEqual([]);
  });

  it.each(CALLERS)("allows and refuses %s as decided", async (_, headersOf, outcomes) => {
    const headers = await headersOf();
    const calls = allProcedures().filter(({ name }) => !ENDS_SESSION.includes(name));
    const answers = calls.map(async (procedure) => [procedure.name, await call(procedure, headers)] as const);
    const expected = calls.map(({ name }) => [name, outcomes[audienceOf(name) ?? "everyone"]] as const);
    expect(Object.fromEntries(await Promise.all(answers))).toEqual(Object.fromEntries(expected));
  });
});

describe("an id of another account", () => {
  it("is answered like one that does not exist, so that nobody learns of it", async () => {
    const other = await signUpWithKey(service.baseUrl);
    const { id: token } = await other.trpc.tokens.create.mutate({ name: "theirs" });
    const { sessions } = await other.trpc.auth.sessions.query();
    const chat = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { ...bearer(other.key), "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] }),
    });
    await chat.arrayBuffer();
    const requestId = chat.headers.get("x-request-id") ?? "";
    // The ids of a table begin with a time, so that one that does not exist differs in its random part only.
    const unknown = (id: string) => `${id.slice(0, -12)}${crypto.randomUUID().slice(-12)}`;
    const period = { from: "2026-01-01", to: "2026-01-02", interval: "day" };
    const questions: readonly (readonly [
      name: string,
      type: string,
      id: string,
      input: (id: string) => unknown,
    ])[] = [
      ["keys.get", "query", other.id, (id) => ({ ids: [id] })],
      ["keys.usage", "query", other.id, (id) => ({ id })],
      ["keys.addresses", "query", other.id, (id) => ({ id })],
      ["keys.rotate", "mutation", other.id, (id) => ({ id, name: "mine" })],
      ["keys.rotate", "mutation", other.id, (id) => ({ id })],
      ["keys.revoke", "mutation", other.id, (id) => ({ id })],
      ["usage.summary", "query", other.id, (key) => ({ ...period, key })],
      ["usage.performance", "query", other.id, (key) => ({ ...period, key })],
      ["audit.list", "query", other.id, (key) => ({ key })],
      ["audit.summary", "query", other.id, (key) => ({ key })],
      ["audit.get", "query", requestId, (id) => ({ requestId: id })],
      ["tokens.revoke", "mutation", token, (id) => ({ id })],
      ["auth.endSession", "mutation", sessions[0]?.id ?? "", (id) => ({ id })],
    ];
    for (const [name, type, theirs, input] of questions) {
      const answerTo = async (id: string) => {
        const question = JSON.stringify({ json: input(id) });
        const isQuery = type === "query";
        const response = await fetch(
          `${service.baseUrl}/trpc/${name}${isQuery ? `?input=${encodeURIComponent(question)}` : ""}`,
          {
            method: isQuery ? "GET" : "POST",
            headers: { ...cookieOf(owner), "content-type": "application/json" },
            ...(isQuery ? {} : { body: question }),
          },
        );
        const text = await response.text();
        return `${response.status} ${text.replaceAll(/"(requestId|generatedAt)":"[^"]*"/g, "").replaceAll(id, "ID")}`;
      };
      expect(await answerTo(theirs), name).toBe(await answerTo(unknown(theirs)));
    }
    expect((await other.trpc.keys.list.query()).keys).toMatchObject([{ id: other.id, state: "active" }]);
    expect(await other.trpc.auth.me.query()).not.toBeNull();
  });
});
