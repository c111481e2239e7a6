import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import Ostiary, { UnverifiableExportError, verifyActionsExport } from "../../sdk/src/index.ts";
import { OstiaryOperator } from "../../sdk/src/operator.ts";
import { recordAction } from "../../server/src/accounts/actions-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { inTransaction, openDatabase } from "../../server/src/database/database.ts";
import { databaseAddressOf, openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { runProcess } from "../fixtures/run-process.ts";
import type { Service } from "../fixtures/service.ts";
import { signUp, type Visitor } from "../fixtures/user.ts";

const CLI = new URL("../../sdk/dist/cli.js", import.meta.url).pathname;
const OPERATOR_CLI = new URL("../../server/dist/operator.js", import.meta.url).pathname;

let service: Service;
let sql: ServiceDatabase;
let operator: Visitor;
let operatorToken: string;
let folder: string;

beforeAll(async () => {
  service = await startOperatedService();
  sql = await openDatabaseOf(service);
  operator = await signInOperator(service.baseUrl);
  operatorToken = (await operator.trpc.tokens.create.mutate({ name: "actions" })).token;
  folder = await mkdtemp(join(tmpdir(), "ostiary-actions-"));
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** An account with some actions, one of them an operator's. */
async function ownerWithActions() {
  const owner = await signUpWithAccount();
  const { accountId } = owner;
  for (const name of ["one", 'two "quoted"', "drei ü"]) {
    const { id } = await owner.trpc.keys.create.mutate({ name });
    await owner.trpc.keys.revoke.mutate({ id });
  }
  await operator.trpc.operator.accounts.setPlan.mutate({
    id: accountId,
    plan: "enterprise",
    reason: "a test",
  });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
  const key = await owner.trpc.keys.create.mutate({ name: "last" });
  const client = new Ostiary({ managementToken: token, apiKey: key.key, baseURL: service.baseUrl });
  return { ...owner, accountId: accountId as AccountId, token, key: key.key, client };
}

async function signUpWithAccount() {
  const owner = await signUp(service.baseUrl);
  const { id: accountId } = await owner.trpc.account.get.query();
  return { ...owner, accountId };
}

async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

function operatorClient(): OstiaryOperator {
  return new OstiaryOperator({ managementToken: operatorToken, baseURL: service.baseUrl });
}

async function run(program: string, token: string, args: readonly string[]) {
  const { code, stdout, stderr } = await runProcess(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, OSTIARY_MANAGEMENT_TOKEN: token, OSTIARY_BASE_URL: service.baseUrl },
  });
  return { code, output: stdout + stderr };
}

describe("an account's actions", () => {
  it("are exported by REST and by the SDK, and verified with and without the service", async () => {
    const { token, client } = await ownerWithActions();
    const response = await fetch(`${service.baseUrl}/v1/account/actions/export`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const lines = (await response.text()).split("\n").slice(0, -1);
    expect(lines).toEqual(await collect(client.account.exportActions()));
    const { data } = await client.account.actions({ limit: 50 });
    expect(lines.map((line) => JSON.parse(line).action.id)).toEqual(data.map(({ id }) => id).reverse());
    const report = await verifyActionsExport(lines);
    expect(report).toMatchObject({ ok: true, actions: data.length, first: 1, problems: [] });
    // As some editors save it.
    const marked = [`\ufeff${lines[0]}`, ...lines.slice(1)];
    expect(await verifyActionsExport(marked)).toEqual(report);
    const online = await client.account.verifyActions();
    expect(online).toMatchObject({ actions: data.length, problems: [], next: null });
    expect(online.head).toEqual(report.head);
  });

  it("do not name operators, whose own trail does", async () => {
    const { client, accountId } = await ownerWithActions();
    const ofPlan = (lines: readonly string[]) =>
      lines
        .map((line) => JSON.parse(line))
        .find(({ action }) => action.action === "account.setPlan" && action.account_id === accountId);
    const told = ofPlan(await collect(client.account.exportActions()));
    expect(told).toMatchObject({
      action: { by_operator: true, user_id: null, management_token: null, source_ip: null, reason: "a test" },
      about: { user_email: null },
    });
    const whole = ofPlan(await collect(operatorClient().exportActions()));
    expect(whole).toMatchObject({
      action: { by_operator: true, user_id: expect.any(String) },
      about: { user_email: "operator@example.com" },
    });
  });

  it("continue after an earlier export, which connects to it", async () => {
    const { client, trpc } = await ownerWithActions();
    const first = await verifyActionsExport(client.account.exportActions());
    await trpc.keys.create.mutate({ name: "later" });
    const head = first.head ?? { position: 0, digest: "" };
    const rest = await collect(client.account.exportActions({ after: head.position }));
    expect(await verifyActionsExport(rest, { expected: head })).toMatchObject({ ok: true, actions: 1 });
    expect(await verifyActionsExport(rest)).toMatchObject({ ok: false, problems: [{ problem: "missing" }] });
    const other = { ...head, digest: "0".repeat(64) };
    expect(await verifyActionsExport(rest, { expected: other })).toMatchObject({ ok: false });
    expect((await client.account.verifyActions({ expected: other })).problems).toEqual([
      { position: head.position, problem: "digest_differs" },
    ]);
  });

  it("are refused to keys, and for parameters that are not valid", async () => {
    const { key, token } = await ownerWithActions();
    const path = "/v1/account/actions/export";
    const statusOf = async (query: string, credential: string) =>
      (
        await fetch(`${service.baseUrl}${path}${query}`, {
          headers: { authorization: `Bearer ${credential}` },
        })
      ).status;
    expect(await statusOf("", key)).toBe(403);
    expect(await statusOf("", "mt-unknown")).toBe(401);
    expect(await statusOf("?after=-1", token)).toBe(400);
    expect(await statusOf("?after=many", token)).toBe(400);
    expect(await statusOf("?limit=1", token)).toBe(400);
    expect(await statusOf("?after=999999", token)).toBe(200);
  });
});

describe("an export of actions", () => {
  it("are no longer exported when the token is revoked meanwhile", async () => {
    const { trpc, accountId } = await signUpWithAccount();
    const { id, token } = await trpc.tokens.create.mutate({ name: "stolen" });
    // More than the connection holds while nothing is read.
    await sql`
      insert into actions (id, at, account_id, action, after)
      select gen_random_uuid(), now(), ${accountId}, 'key.create', json_build_object('name', repeat('x', 10000))
      from generate_series(1, 2000)`;
    const response = await fetch(`${service.baseUrl}/v1/account/actions/export`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const body = response.body?.getReader();
    expect([response.status, (await body?.read())?.done]).toEqual([200, false]);
    await trpc.tokens.revoke.mutate({ id });
    const readRest = async () => {
      while ((await body?.read())?.done === false);
    };
    await expect(readRest()).rejects.toThrow();
  });

  it("fails verification when lines were changed, removed, repeated, swapped or added", async () => {
    const { client } = await ownerWithActions();
    const lines = await collect(client.account.exportActions());
    const changed = (from: RegExp, to: string) => lines.map((line) => line.replace(from, to));
    const beforeChain = /(?=,"chain":\{)/;
    const forgeries = {
      changed: changed(/"reason":"a test"/, '"reason":"a pest"'),
      digest: lines.with(4, (lines[4] ?? "").replace(/"digest":"[0-9a-f]{8}/, '"digest":"00000000')),
      removed: lines.toSpliced(3, 1),
      beginning: lines.slice(1),
      repeated: lines.toSpliced(3, 0, lines[3] ?? ""),
      swapped: lines.with(3, lines[4] ?? "").with(4, lines[3] ?? ""),
      torn: lines.with(5, (lines[5] ?? "").slice(0, 50)),
      added: lines.toSpliced(2, 0, (lines[2] ?? "").replace("key.create", "key.revoke")),
      // Of two members with the same name most readers see the last one, which no digest covers.
      "an action twice": lines.with(4, (lines[4] ?? "").replace(beforeChain, ',"action":{}')),
      "an action twice, once escaped": lines.with(
        4,
        (lines[4] ?? "").replace(beforeChain, ',"\\u0061ction":{}'),
      ),
    };
    for (const [what, forged] of Object.entries(forgeries)) {
      expect((await verifyActionsExport(forged)).ok, what).toBe(false);
    }
    const nested = `{"action":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    for (const foreign of [["id,at", "1,2"], [nested]])
      await expect(verifyActionsExport(foreign)).rejects.toThrow(UnverifiableExportError);
  });

  it("is complete in parts that follow each other", async () => {
    const { client, trpc } = await ownerWithActions();
    const whole = await collect(client.account.exportActions());
    const lines: string[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const part: { lines: readonly string[]; next: number | null } = await trpc.account.exportActions.query({
        after,
        limit: 2,
      });
      lines.push(...part.lines);
      after = part.next;
    }
    expect(lines).toEqual(whole);
    expect(lines.length).toBeGreaterThan(3);
  });

  it("is written and verified on the command lines of accounts and operators", async () => {
    const { token } = await ownerWithActions();
    for (const [program, credential, command] of [
      [CLI, token, "actions"],
      [OPERATOR_CLI, operatorToken, "audit"],
    ] as const) {
      const file = join(folder, `${command}.ndjson`);
      expect(await run(program, credential, [command, "export", "-o", file])).toMatchObject({ code: 0 });
      const verified = await run(program, credential, [command, "verify", file]);
      expect(verified, verified.output).toMatchObject({ code: 0 });
      const [head = ""] = /\d+:[0-9a-f]{64}/.exec(verified.output) ?? [];
      const online = await run(program, credential, [command, "verify", "--expected", head]);
      expect(online, online.output).toMatchObject({ code: 0, output: expect.stringContaining("no changes") });
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replace("key.revoke", "key.create"));
      expect(await run(program, credential, [command, "verify", file])).toMatchObject({ code: 3 });
      await writeFile(file, "# Notes\n");
      expect(await run(program, credential, [command, "verify", file])).toMatchObject({ code: 2 });
    }
  });
});

describe("the chain of actions", () => {
  it("is neither lost nor forked by concurrent transactions of several nodes, and blocks none of them", async () => {
    const owners = await Promise.all([ownerWithActions(), ownerWithActions()]);
    const accounts = owners.map(({ accountId }) => accountId);
    const address = await databaseAddressOf(service);
    const nodes = [1, 2].map(() => openDatabase(address, { maxConnections: 4, connectTimeoutS: 30 }));
    const action = {
      by: null,
      action: "account.setLimits",
      reason: null,
      before: null,
      after: { n: 1 },
    } as const;
    try {
      await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          inTransaction(nodes[index % 2] ?? sql, async (transaction) => {
            // Actions of both accounts, in either order.
            for (const accountId of index % 4 < 2 ? accounts : accounts.toReversed()) {
              await recordAction(transaction, { ...action, at: new Date(), accountId });
            }
            if (index % 10 === 9) throw new Error("rolled back");
          }).catch((error: unknown) => expect(String(error)).toContain("rolled back")),
        ),
      );
    } finally {
      for (const node of nodes) await node.end();
    }
    for (const { client, trpc } of owners) {
      const { actions } = await trpc.account.actions.query({ limit: 200 });
      expect(actions.filter(({ action: name }) => name === "account.setLimits")).toHaveLength(36);
      const report = await verifyActionsExport(client.account.exportActions());
      expect(report).toMatchObject({ ok: true, actions: actions.length });
    }
    expect(await operatorClient().verifyActions()).toMatchObject({ problems: [] });
  });

  it("shows actions that were changed, removed or added in the database", async () => {
    const { client, accountId } = await ownerWithActions();
    const [row] = await sql<{ id: string }[]>`
      select id from actions where account_id = ${accountId} and action = 'key.revoke' order by id limit 1`;
    const id = row?.id ?? "";
    const problems = async () => [
      (await client.account.verifyActions()).problems.map(({ problem }) => problem),
      (await operatorClient().verifyActions()).problems.map(({ problem }) => problem),
    ];
    await sql`update actions set action = 'key.create' where id = ${id}`;
    expect(await problems()).toEqual([["changed"], ["changed"]]);
    expect(await verifyActionsExport(client.account.exportActions())).toMatchObject({ ok: false });
    await sql`update actions set action = 'key.revoke' where id = ${id}`;
    expect(await problems()).toEqual([[], []]);
    const [chain] = await sql<{ length: bigint; digest: Uint8Array }[]>`
      select length, digest from action_chains where owner = ${accountId}`;
    const { length = 0n, digest = new Uint8Array() } = chain ?? {};
    // As if the last action were replaced together with its link, or cut off.
    for (const end of [sql`sha256('another')`, sql`null`]) {
      await sql`update action_chains set digest = ${end} where owner = ${accountId}`;
      expect(await problems()).toEqual([["changed"], []]);
    }
    await sql`
      update action_chains set (length, digest) = (
        select position, links.digest from action_links links where owner = ${accountId} and position = ${length - 1n})
      where owner = ${accountId}`;
    expect(await problems()).toEqual([["added"], []]);
    await sql`update action_chains set length = ${length}, digest = ${digest} where owner = ${accountId}`;
    expect(await problems()).toEqual([[], []]);
    const added = uuidv7();
    await inTransaction(sql, async (transaction) => {
      await transaction`alter table actions disable trigger chain_action`;
      await transaction`insert into actions (id, at, account_id, action) values (${added}, now(), ${accountId}, 'key.create')`;
      await transaction`alter table actions enable trigger chain_action`;
    });
    expect(await problems()).toEqual([["added"], ["added"]]);
    // As if it were in both chains, at a position that no digest covers.
    const trail = "00000000-0000-0000-0000-000000000000";
    for (const position of [0, -1]) {
      for (const owner of [accountId, trail]) {
        await sql`insert into action_links (owner, position, action, digest) values (${owner}, ${position}, ${added}, '')`;
      }
      expect(await problems()).toEqual([["added"], ["added"]]);
      await sql`delete from action_links where action = ${added}`;
    }
    await sql`delete from actions where id = ${added}`;
    await sql`delete from action_links where action = ${id}`;
    await sql`delete from actions where id = ${id}`;
    // The next action's digest covers the one that is gone.
    expect(await problems()).toEqual([
      ["missing", "changed"],
      ["missing", "changed"],
    ]);
    expect(await verifyActionsExport(client.account.exportActions())).toMatchObject({ ok: false });
  });
});
