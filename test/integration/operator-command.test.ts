import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { runOperatorCommand } from "../fixtures/command.ts";
import { freePort } from "../fixtures/free-port.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { OPERATOR_ENV, startOperatedService } from "../fixtures/operator.ts";
import { outcomeOf } from "../fixtures/request.ts";
import { ROOT, RUNTIME } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey, visit } from "../fixtures/user.ts";
import { loopback } from "../sdk/loopback.ts";

/** Writing to it fails as on a full disk. */
const FULL_DEVICE = "/dev/full";

const service = sharedByFile(startOperatedService);
let env: Record<string, string>;

beforeAll(async () => {
  const base = { OSTIARY_BASE_URL: `${service.baseUrl}/v1` };
  const { stdout } = await runOperatorCommand(["token", "tests"], { ...base, ...OPERATOR_ENV });
  env = { ...base, OSTIARY_MANAGEMENT_TOKEN: stdout.trim() };
});

/** Runs a command that is to succeed. @returns what it printed. */
async function operator(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runOperatorCommand(args, env);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return stdout;
}

describe("the operator's command line", () => {
  it.runIf(RUNTIME === "node")("ends quietly when the reader of its output has gone", async () => {
    for (const program of ["operator.js", "ostiary-server.js"]) {
      const child = spawn(process.execPath, [`server/dist/${program}`, "--help"], { cwd: ROOT });
      child.stdout.destroy();
      let stderr = "";
      child.stderr.on("data", (text) => {
        stderr += text;
      });
      const [code] = await once(child, "close");
      expect([code, stderr], program).toEqual([0, ""]);
    }
  });

  it.runIf(RUNTIME === "node" && existsSync(FULL_DEVICE))("fails when its output is incomplete", async () => {
    for (const program of ["operator.js", "ostiary-server.js"]) {
      const full = await open(FULL_DEVICE, "w");
      const child = spawn(process.execPath, [`server/dist/${program}`, "--help"], {
        cwd: ROOT,
        stdio: ["ignore", full.fd, "pipe"],
      });
      let stderr = "";
      child.stderr?.on("data", (text) => {
        stderr += text;
      });
      const [code] = await once(child, "close");
      await full.close();
      expect([code, stderr], program).toEqual([
        1,
        expect.stringMatching(/^The output cannot be written: .+\n$/),
      ]);
    }
  });

  it("creates its own management token, once, and leaves no session behind", async () => {
    expect(env.OSTIARY_MANAGEMENT_TOKEN).toMatch(/^mt-[0-9A-Za-z]{49}$/);
    const { trpc } = visit(service.baseUrl);
    await trpc.auth.signIn.mutate({
      email: OPERATOR_ENV.OSTIARY_OPERATOR_EMAIL,
      password: OPERATOR_ENV.OSTIARY_OPERATOR_PASSWORD,
    });
    expect((await trpc.auth.sessions.query()).sessions).toHaveLength(1);
  });

  it("lists and revokes its own management tokens with the operator's password", async () => {
    const signingIn = { ...env, ...OPERATOR_ENV };
    const run = async (...args: string[]) => (await runOperatorCommand(["token", ...args], signingIn)).stdout;
    const lost = (await run("lost laptop", "--expires-in-days", "7")).trim();
    const holder = { ...env, OSTIARY_MANAGEMENT_TOKEN: lost };
    expect((await runOperatorCommand(["accounts", "list"], holder)).code).toBe(0);
    const [, id = ""] =
      /^(\S+) +lost laptop +expires \S+ +last used \S+ from 127\.0\.0\.1$/m.exec(await run("list")) ?? [];
    expect(await run("revoke", id)).toMatch(/^\S+ +lost laptop +revoked /);
    expect((await runOperatorCommand(["accounts", "list"], holder)).stderr).toContain(
      "invalid_management_token",
    );
    // Another operator's token is none of this one's.
    const unknown = await runOperatorCommand(["token", "revoke", crypto.randomUUID()], signingIn);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("not_found")]);
  });

  it("logs to standard error, so that scripts can read standard output", async () => {
    const logged = { ...env, ...OPERATOR_ENV, OSTIARY_LOG_LEVEL: "debug" };
    for (const args of [
      ["accounts", "list"],
      ["token", "list"],
    ]) {
      const { code, stdout, stderr } = await runOperatorCommand(args, logged);
      expect([code, stdout]).toEqual([0, expect.not.stringContaining("[ostiary]")]);
      expect(stderr).toContain("[ostiary] request");
    }
  });

  it("says that a list is empty", async () => {
    const nobody = "nobody@example.com";
    expect(await operator("accounts", "list", "--search", nobody)).toBe("No accounts.\n");
    expect(await operator("audit", "--account", crypto.randomUUID())).toBe("No changes.\n");
    expect(JSON.parse(await operator("--json", "accounts", "list", "--search", nobody)).accounts).toEqual([]);
  });

  it("manages an account as the procedures do", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { email } = owner;
    expect(await operator("accounts", "list", "--search", email)).toContain(email);

    await operator("accounts", "suspend", email, "--reason", "unpaid");
    expect((await outcomeOf(service.baseUrl, owner.key)).code).toBe("account_suspended");
    expect(await operator("accounts", "get", email)).toMatch(/suspended since .*: unpaid/);
    const found = ["accounts", "list", "--search", email];
    expect(await operator(...found, "--state", "suspended", "--plan", "free")).toContain(email);
    expect(await operator(...found, "--plan", "pro")).not.toContain(email);
    await operator("accounts", "reinstate", email, "--reason", "paid");

    await operator("accounts", "set-plan", email, "enterprise");
    expect(await operator("accounts", "try-ip-rules", email, "127.0.0.1", "--rules", "10.0.0.0/8")).toBe(
      "blocked\n",
    );
    await operator("accounts", "set-ip-rules", email, "10.0.0.0/8", "2001:db8::/32");
    expect((await outcomeOf(service.baseUrl, owner.key)).code).toBe("ip_blocked");
    expect(await operator("accounts", "try-ip-rules", email, "2001:db8::7")).toBe("passes\n");
    expect(await operator("accounts", "set-ip-rules", email, "10.0.0.0/8", "--report-only")).toContain(
      "report only",
    );
    expect((await outcomeOf(service.baseUrl, owner.key)).status).toBe(200);
    // Other networks change nothing about that; nor do no networks remove the rules unless it is said.
    expect(await operator("accounts", "set-ip-rules", email, "10.1.0.0/16")).toContain("report only");
    const forgotten = await runOperatorCommand(["accounts", "set-ip-rules", email], env);
    expect(forgotten).toMatchObject({ code: 2, stderr: expect.stringContaining("--none") });
    expect(await operator("accounts", "get", email)).toContain("10.1.0.0/16 (report only)");
    await operator("accounts", "set-ip-rules", email, "10.1.0.0/16", "--enforce");
    expect((await outcomeOf(service.baseUrl, owner.key)).code).toBe("ip_blocked");
    await operator("accounts", "set-ip-rules", email, "--none");
    expect((await outcomeOf(service.baseUrl, owner.key)).status).toBe(200);
    await operator("accounts", "set-ip-rules", email, "10.0.0.0/8", "--report-only");
    expect(await operator("accounts", "set-plan", email, "pro")).toContain(
      "! The account's IP rules are kept",
    );

    await operator(
      "accounts",
      "set-limits",
      email,
      "--requests-per-minute",
      "7",
      "--concurrent-requests",
      "2",
    );
    await operator("accounts", "set-limits", email, "--concurrent-requests", "plan");
    expect((await owner.trpc.account.get.query()).limits).toEqual({
      requestsPerMinute: 7,
      tokensPerMinute: null,
      concurrentRequests: null,
    });
    expect(await operator("accounts", "grant-credits", email, "12.5", "--reason", "welcome")).toContain(
      "17.50 USD",
    );
    const taken = await operator(
      "accounts",
      "grant-credits",
      email,
      "--reason",
      "slip",
      "--",
      "-0.000000001",
    );
    expect(taken).toContain("17.499999999 USD");
    expect(await operator("reconcile")).toMatch(
      /^No mismatches\.\n.*reserved by nodes .* USD in \d+ reserves, /s,
    );

    const { id } = await owner.trpc.account.get.query();
    const page = JSON.parse(await operator("--json", "audit", "--account", id, "--limit", "1"));
    expect(page.actions).toMatchObject([
      { action: "account.grantCredits", reason: "slip", by: { managementToken: expect.any(String) } },
    ]);
    expect(await operator("audit", "--account", id)).toContain("reason  unpaid");

    const invoice = ["--reason", "invoice 7", "--idempotency-key", "invoice-7"];
    for (let time = 0; time < 2; time++) {
      const granted = await operator("accounts", "grant-credits", email, "0.000000001", ...invoice);
      expect(granted).toContain("17.50 USD");
    }
  });

  it("sends only the limits that are given, so that operators do not undo each other's changes", async () => {
    const sent: string[] = [];
    await using fake = await loopback(async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      sent.push(`${request.url} ${body}`);
      response.writeHead(404).end("{}");
    });
    const id = crypto.randomUUID();
    const limits = ["--requests-per-minute", "7", "--concurrent-requests", "plan"];
    await runOperatorCommand(["accounts", "set-limits", id, ...limits], {
      ...env,
      OSTIARY_BASE_URL: fake.url,
    });
    const input = { id, limits: { requestsPerMinute: 7, concurrentRequests: null } };
    expect(sent).toEqual([`/trpc/operator.accounts.setLimits ${JSON.stringify({ json: input })}`]);
  });

  it("creates an account whose user can sign in, and resets a lost password", async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const made = JSON.parse(
      await operator("--json", "accounts", "create", "--email", email, "--name", "Made", "--plan", "pro"),
    );
    await visit(service.baseUrl).trpc.auth.signIn.mutate({ email, password: made.password });
    const create = ["accounts", "create", "--email", email, "--name", "Made again"];
    const { code, stderr } = await runOperatorCommand(create, env);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/exists\. Search for the address.*\(conflict\)/),
    ]);
    const reset = JSON.parse(await operator("--json", "reset-password", email));
    const user = visit(service.baseUrl);
    await user.trpc.auth.signIn.mutate({ email, password: reset.password });
    expect((await user.trpc.account.get.query()).plan).toBe("pro");
  });

  it("lists the nodes that have reserved credit, and releases the reserves of one that runs only by force", async () => {
    const { nodes } = JSON.parse(await operator("--json", "nodes", "list"));
    expect(nodes).toMatchObject([{ isAway: false }]);
    expect(await operator("nodes", "list")).toMatch(/^\d+ +running/);
    const release = ["nodes", "release", nodes[0].id, "--reason", "test"];
    const refused = await runOperatorCommand(release, env);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/seen in the last minute.*force the release\..*\(conflict\)/s),
    ]);
    // Its node goes on with a new one.
    expect(await operator(...release, "--force")).toMatch(/^released +/);
    await expect
      .poll(async () => JSON.parse(await operator("--json", "nodes", "list")).nodes[0]?.id)
      .not.toBe(nodes[0].id);
    expect(await operator("audit")).toContain("credit.release");
  });

  it("reports errors with what to do next, without a stack trace", async () => {
    const unused = `http://127.0.0.1:${await freePort()}`;
    await using model = await startModelServer(() => {});
    const withoutTls = model.baseUrl.replace("http:", "https:");
    const cases: [string[], Record<string, string>, number, RegExp][] = [
      [["accounts", "get", "nobody@example.com"], env, 1, /accounts list/],
      [["accounts", "suspend", "nobody@example.com"], env, 2, /--reason/],
      [["accounts", "set-limits", crypto.randomUUID()], env, 2, /at least one limit/],
      [["accounts", "set-plan", crypto.randomUUID(), "gold"], env, 2, /free, pro, enterprise/],
      [["accounts", "get", crypto.randomUUID()], env, 1, /No such account.*\(not_found\)/],
      [
        ["accounts", "set-ip-rules", crypto.randomUUID(), "10.0.0.0/33"],
        env,
        1,
        /^<networks>: .*10\.0\.0\.0\/33.*\(invalid_request\)/,
      ],
      [
        ["accounts", "create", "--email", "owner@example.com", "--name", ""],
        env,
        1,
        /^--name: .*\(invalid_request\)/,
      ],
      [
        ["--timeout", "1", "accounts", "list"],
        { ...env, OSTIARY_BASE_URL: model.baseUrl },
        1,
        /^No complete answer within 1000 ms\. Set --timeout to wait for longer\.\n$/,
      ],
      [["accounts", "grant-credits", crypto.randomUUID(), "ten", "--reason", "x"], env, 2, /US dollars/],
      [
        ["nodes", "release", "999999999", "--reason", "x"],
        env,
        1,
        /No such node exists\. List the nodes.*\(not_found\)/,
      ],
      [["journal", "show", "000000000000"], env, 1, /has no rejected line.*\(not_found\)/],
      [["nodes", "release", "first", "--reason", "x"], env, 2, /nodes list/],
      [["nodes", "release", "1"], env, 2, /--reason/],
      [["no-such-command"], env, 2, /unknown command/],
      [["audit", "verify", "/no/such/export.ndjson"], env, 2, /no such file/i],
      [
        ["accounts", "list"],
        { ...env, OSTIARY_MANAGEMENT_TOKEN: "" },
        2,
        /OSTIARY_MANAGEMENT_TOKEN is not set/,
      ],
      [["accounts", "list"], { ...env, OSTIARY_MANAGEMENT_TOKEN: "mt-x" }, 1, /invalid_management_token/],
      [["accounts", "list"], { ...env, OSTIARY_BASE_URL: unused }, 1, /cannot be reached: .*refused/i],
      [
        ["accounts", "list"],
        { ...env, OSTIARY_BASE_URL: withoutTls },
        1,
        /^.* cannot be reached: .+[^.:\s]\. Check .*\n$/,
      ],
      [["accounts", "list"], { ...env, OSTIARY_BASE_URL: "nowhere" }, 2, /base URL is malformed/],
    ];
    for (const [args, environment, code, words] of cases) {
      const outcome = await runOperatorCommand(args, environment);
      expect(outcome.stderr, args.join(" ")).toMatch(words);
      expect(outcome.stderr).not.toMatch(/\n\s+at /);
      // At a shell there are commands and options, no procedures and no fields.
      expect(outcome.stderr).not.toMatch(/`|\b(operator|accounts|nodes|keys|audit|journal)\.[a-z]/);
      expect(outcome.code, args.join(" ")).toBe(code);
    }
  });
});
