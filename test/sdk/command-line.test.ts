import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, type Service } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { loopback } from "./loopback.ts";
import { type ManagedService, startManagedService } from "./managed-service.ts";

const CLI = join(ROOT, "sdk/dist/cli.js");
/** Writing to it fails as on a full disk. */
const FULL_DEVICE = "/dev/full";

let managed: ManagedService;
let service: Service;
let key: string;
let token: string;
let client: ManagedService["client"];
let folder: string;

beforeAll(async () => {
  managed = await startManagedService();
  ({ service, key, token, client } = managed);
  folder = await mkdtemp(join(tmpdir(), "ostiary-sdk-"));
});

afterAll(async () => {
  await managed?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function run(args: readonly string[], env: Record<string, string> = {}, program: string | null = null) {
  const [command, ...words] = program === null ? [process.execPath, CLI, ...args] : [program, ...args];
  const child = spawn(command, words, {
    env: {
      PATH: process.env.PATH,
      OSTIARY_API_KEY: key,
      OSTIARY_MANAGEMENT_TOKEN: token,
      OSTIARY_BASE_URL: service.baseUrl,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

describe("the SDK's command line", () => {
  it("chats, and lists models and keys", async () => {
    expect(await run(["chat", "sandbox/echo", "one", "two"])).toMatchObject({ code: 0, stdout: "one two\n" });
    expect((await run(["models"])).stdout).toContain("sandbox/echo");
    const { stdout } = await run(["--json", "keys", "list"]);
    expect(JSON.parse(stdout)[0]).toHaveProperty("keyId");
    expect((await run(["keys", "list"])).stdout).toContain("requests in 24 h");
    expect((await run(["usage", "--by", "model"])).stdout).toContain("total");
  });

  it("tells its version, and that a message is missing", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, "sdk/package.json"), "utf8"));
    expect(await run(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
    const silent = await run(["chat", "sandbox/echo"]);
    expect(silent).toMatchObject({ code: 2, stdout: "" });
    expect(silent.stderr).toContain("There is no prompt");
  });

  it.each(["warm", "-1"])("refuses a temperature that is no decimal number: %j", async (given) => {
    expect(await run(["chat", "sandbox/echo", "hi", `--temperature=${given}`])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "--temperature must be a number of 0 or greater, such as 0.7.\n",
    });
  });

  it("takes dates, of which the last is included", async () => {
    await run(["chat", "sandbox/echo", "one"]);
    const today = new Date().toISOString().slice(0, 10);
    const entries = await run(["audit", "export", "--from", today, "--to", today]);
    expect(entries.stdout).toContain("sandbox/echo");
    const requests = async (...options: string[]) =>
      JSON.parse((await run(["--json", "usage", ...options])).stdout).total.requests;
    expect(await requests("--from", today, "--to", today)).toBeGreaterThan(0);
    expect(await requests("--days", "1")).toBeGreaterThan(0);
    expect(await requests("--interval", "month")).toBeGreaterThan(0);
    expect(await requests("--to", "2020-01-01", "--from", "2020-01-01")).toBe(0);
    expect(await run(["usage", "--from", "yesterday"])).toMatchObject({ code: 1, stdout: "" });
    const reversed = await run(["audit", "export", "--from", today, "--to", "2020-01-01"]);
    expect(reversed.stderr).toContain("--to: must not be before the beginning of the period (");
    expect(await run(["usage", "--from", today, "--days", "3"])).toMatchObject({ code: 2, stdout: "" });
  });

  it("logs to standard error, so that scripts can read standard output", async () => {
    const created = await run(["keys", "create", "logged"], { OSTIARY_LOG_LEVEL: "debug" });
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sk-\w+\n$/) });
    expect(created.stderr).toContain("[ostiary] request");
  });

  it("prints only the string of a key that it creates, and revokes it", async () => {
    const created = await run(["keys", "create", "by command"]);
    expect(created.stdout).toMatch(/^sk-\w{49}\n$/);
    expect(created.stderr).not.toContain(created.stdout.trim());
    const { stdout } = await run(["--json", "keys", "list"]);
    const { id } = JSON.parse(stdout).find(({ name }: { name: string }) => name === "by command");
    expect((await run(["keys", "rotate", id, "--name", "next"])).stdout).toMatch(/^sk-/);
    expect((await run(["keys", "revoke", id])).stdout).toContain("Revoked key");
    const refused = await run(["chat", "sandbox/echo", "hi"], { OSTIARY_API_KEY: created.stdout.trim() });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("revoked_api_key");
    expect(refused.stderr).not.toContain(created.stdout.trim());
  });

  // `script` gives a program a terminal. It is not everywhere, nor everywhere the same.
  it.skipIf(process.platform !== "linux" || !existsSync("/usr/bin/script"))(
    "shows the progress of an export on a terminal, and nowhere else",
    async () => {
      await client().models.list();
      const file = join(folder, "seen.ndjson");
      const onTerminal = (...options: string[]) => {
        const words = [process.execPath, CLI, "audit", "export", ...options];
        return run(["-qec", words.join(" "), "/dev/null"], {}, "/usr/bin/script");
      };
      const seen = await onTerminal("-o", file);
      expect(seen.code, seen.stdout).toBe(0);
      const entries = (await readFile(file, "utf8")).trimEnd().split("\n").length;
      // A bar that grows, and in its place, in the end, what it came to.
      expect(seen.stdout).toMatch(/\[#* *\] \d+ %/);
      expect(seen.stdout.split("\r").at(-2)).toContain(`${entries} entries to `);
      expect(await run(["audit", "export", "-o", file])).toMatchObject({ code: 0, stdout: "", stderr: "" });
      // It does not come between lines.
      expect((await onTerminal()).stdout).toMatch(/^(?:\{.*\}\r\n)+$/);
    },
  );

  describe("when a model or its provider writes control characters", () => {
    // Fills the clipboard, clears the terminal, and makes its text red by the one character that also begins a command.
    const HOSTILE = "a\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b31m\r\tb\n";
    const SHOWN = "a·]52;c;ZXZpbA==··[2J·31m\tb\n";

    it.skipIf(process.platform !== "linux" || !existsSync("/usr/bin/script"))(
      "shows a terminal others in their place, and passes them on to a file",
      async () => {
        const chat = ["chat", "sandbox/echo", HOSTILE];
        expect((await run(chat)).stdout).toBe(`${HOSTILE}\n`);
        const onTerminal = `${process.execPath} ${CLI} chat sandbox/echo "$PROMPT"`;
        const seen = await run(["-qec", onTerminal, "/dev/null"], { PROMPT: HOSTILE }, "/usr/bin/script");
        // A terminal begins each line with a carriage return.
        expect(seen.stdout.replaceAll("\r", "")).toBe(`${SHOWN}\n`);
      },
    );

    it("does not repeat them in errors", async () => {
      await using refusing = await loopback((_, response) => {
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { message: HOSTILE, code: "invalid_request", param: null } }));
      });
      const env = { OSTIARY_BASE_URL: refusing.url };
      expect((await run(["chat", "m", "hi"], env)).stderr).toContain(`invalid_request: ${SHOWN}`);
      const operator = [join(ROOT, "server/dist/operator.js"), "accounts", "list"];
      expect((await run(operator, env, process.execPath)).stderr).toContain(SHOWN);
    });
  });

  it("exports to a file, resumes after a cut, and verifies it", async () => {
    const file = join(folder, "audit.ndjson");
    expect((await run(["audit", "export", "-o", file])).code).toBe(0);
    const whole = await readFile(file, "utf8");
    // As a machine leaves it that went out while it was written.
    await writeFile(file, whole.slice(0, Math.floor(whole.length / 2)));
    expect((await run(["audit", "export", "-o", file, "--resume"])).code).toBe(0);
    const resumed = (await readFile(file, "utf8")).trimEnd().split("\n");
    expect(resumed.slice(0, whole.trimEnd().split("\n").length)).toEqual(whole.trimEnd().split("\n"));
    expect((await run(["audit", "verify", file])).stdout).toContain("Verified: no changes.");
    await writeFile(file, whole.replace(/"latency_ms":\d+/, '"latency_ms":987654'));
    expect(await run(["audit", "verify", file])).toMatchObject({ code: 3 });
    const { stdout } = await run(["audit", "verify", file]);
    expect(stdout).toContain("Verification failed:");
    expect(stdout).not.toContain("null");
    expect((await run(["audit", "verify"])).stdout).toContain("Verified: no changes.");
    expect((await run(["audit", "export", "--format", "csv", "--status", "200"])).stdout).toMatch(/^id,/);
  });

  it.runIf(existsSync(FULL_DEVICE))("fails when its output is incomplete", async () => {
    const outcome = await run(
      ["-c", `"$0" "$1" audit export > ${FULL_DEVICE}`, process.execPath, CLI],
      {},
      "sh",
    );
    expect(outcome).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The output cannot be written: .+\n$/),
    });
  });

  it.runIf(existsSync(FULL_DEVICE))("has done its work if only its note cannot be written", async () => {
    const created = await run(
      ["-c", `"$0" "$1" keys create unheard 2> ${FULL_DEVICE}`, process.execPath, CLI],
      {},
      "sh",
    );
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sk-\w+\n$/) });
  });

  it("keeps the exit code of a failed verification that has no reader", async () => {
    const file = join(folder, "unread.ndjson");
    await writeFile(file, `{"proof":{"export":{"from":null,"to":null,"filter":{}}},"cursor":"1"}\n`);
    const outcomes = await Promise.all(
      [["audit", "verify", file], ["--help"]].map(async (args) => {
        const child = spawn(process.execPath, [CLI, ...args], { stdio: ["ignore", "pipe", "inherit"] });
        child.stdout.destroy();
        return once(child, "close");
      }),
    );
    expect(outcomes).toEqual([
      [3, null],
      [0, null],
    ]);
  });

  it("exports to a pipe and verifies what comes from it, both by the name -", async () => {
    await client().models.list();
    const cli = `"${process.execPath}" "${CLI}"`;
    for (const command of ["audit", "actions"]) {
      const script = `cd "${folder}" && ${cli} ${command} export -o - | ${cli} ${command} verify -; ls -a`;
      const { stdout, stderr } = await run(["-c", script], {}, "/bin/sh");
      expect(stdout, stderr).toContain("Verified: no changes.");
      expect(stdout.split("\n")).not.toContain("-");
    }
    expect(await run(["audit", "export", "-o", "-", "--resume"])).toMatchObject({ code: 2, stdout: "" });
  });

  it("keeps an existing file if the service refuses the export", async () => {
    const file = join(folder, "kept.ndjson");
    await writeFile(file, "kept\n");
    const refused: [string[], Record<string, string>][] = [
      [["audit", "export", "-o", file], { OSTIARY_API_KEY: "sk-x" }],
      [["audit", "export", "-o", file, "--status", "many"], {}],
      [["actions", "export", "-o", file], { OSTIARY_MANAGEMENT_TOKEN: "mt-x" }],
    ];
    for (const [args, env] of refused) {
      expect(await run(args, env)).toMatchObject({ code: 1, stdout: "" });
      expect(await readFile(file, "utf8")).toBe("kept\n");
    }
  });

  it("fails with the status of a proxy's page, whatever it asked for, and leaves files as they are", async () => {
    let status = 200;
    await using proxy = await loopback((_, response) => {
      response.writeHead(status, { "content-type": "text/html" }).end("<h1>Sign in</h1>\n");
    });
    const file = join(folder, "page.ndjson");
    await writeFile(file, "kept\n");
    const commands = [
      ["chat", "sandbox/echo", "hi"],
      ["models"],
      ["audit", "export"],
      ["audit", "export", "-o", file],
      ["audit", "export", "--format", "csv", "-o", file],
      ["audit", "verify"],
      ["actions", "export", "-o", file],
      ["keys", "list"],
      ["keys", "create", "a"],
      ["usage"],
    ];
    for (status of [200, 401, 403]) {
      const message = status === 200 ? "is not from the service" : "has no error of the service";
      for (const args of commands) {
        const outcome = await run(args, { OSTIARY_BASE_URL: proxy.url });
        expect(outcome, args.join(" ")).toMatchObject({ code: 1, stdout: "" });
        expect(outcome.stderr).toMatch(new RegExp(`^${status}: .*${message}`));
      }
    }
    expect(await readFile(file, "utf8")).toBe("kept\n");
  });

  it("fails when a stream is interrupted", async () => {
    await using cut = await loopback((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n');
    });
    const outcome = await run(["chat", "sandbox/echo", "hi"], { OSTIARY_BASE_URL: cut.url });
    expect(outcome).toMatchObject({
      code: 1,
      stdout: "Hel",
      stderr: expect.stringContaining("ended before the answer"),
    });
  });

  it("tells that a file without entries proves nothing", async () => {
    const file = join(folder, "empty.ndjson");
    await writeFile(file, "");
    for (const [command, what] of [
      ["audit", "entries"],
      ["actions", "actions"],
    ] as const) {
      expect(await run([command, "verify", file])).toMatchObject({
        code: 2,
        stdout: `The file has no ${what}: it proves nothing.\n${what}  0\nhead     none\n`,
      });
    }
  });

  it("tells a file that cannot be read from a service that has failed, by the exit code", async () => {
    const missing = join(tmpdir(), `none-${crypto.randomUUID()}.ndjson`);
    for (const command of ["audit", "actions"]) {
      expect(await run([command, "verify", missing])).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringMatching(/^The file cannot be read: ENOENT/),
      });
    }
  });

  it("says that a log without entries has nothing to verify", async () => {
    const newcomer = await signUpWithKey(service.baseUrl);
    const env = { OSTIARY_API_KEY: newcomer.key, OSTIARY_MANAGEMENT_TOKEN: "" };
    expect(await run(["audit", "verify"], env)).toMatchObject({
      code: 0,
      stdout: "The service has no entries: there is nothing to verify.\nentries  0\nhead     none\n",
    });
  });

  it("explains a refusal by the names of its options and arguments", async () => {
    const refusals: [string[], string][] = [
      [["audit", "export", "--error-code", ""], "--error-code: must not be empty"],
      [["usage", "--from", "yesterday"], "--from: must be a date"],
      [["keys", "create", ""], "<name>: "],
      [["keys", "rotate", "x"], "<id>: "],
      [["keys", "rotate", crypto.randomUUID(), "--idle-after", "999999999"], "--idle-after: "],
      [["chat", "sandbox/echo", "hi", "--temperature", "9"], "--temperature: must be at most 2"],
    ];
    for (const [args, message] of refusals) {
      const refused = await run(args);
      expect(refused, args.join(" ")).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain(`400 invalid_request: ${message}`);
    }
  });

  it("ends after its timeout, and names the option that changes it", async () => {
    let requests = 0;
    await using silent = await loopback((_, response) => {
      // The second answer begins, and then stops.
      if (++requests > 1) response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    });
    for (const count of [1, 2]) {
      const late = await run(["--timeout", "1", "chat", "m", "hi"], { OSTIARY_BASE_URL: silent.url });
      expect(late).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/ 1000 ms\. Set --timeout to wait for longer\.\n$/),
      });
      expect(requests).toBe(count);
    }
  });

  it.skipIf(process.platform === "win32")("is interrupted while it reads", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const args of [
      ["chat", "sandbox/echo"],
      ["audit", "verify", pipe],
      ["actions", "verify", pipe],
    ]) {
      const child = spawn(process.execPath, [CLI, ...args], { env: { OSTIARY_API_KEY: key } });
      const input = args.includes(pipe) ? createWriteStream(pipe) : child.stdin;
      input.on("error", () => {});
      const closed = once(child, "close");
      // More than a pipe holds: it is written when the command reads.
      await new Promise((resolve) => input.write("a".repeat(1_000_000), resolve));
      child.kill("SIGINT");
      // Reading a pipe without input cannot be interrupted.
      input.write("a".repeat(1_000_000));
      expect(await closed, args[0]).toEqual([130, null]);
      input.destroy();
    }
  });

  it("reports what it does not understand, and what is missing", async () => {
    expect(await run(["nonsense"])).toMatchObject({ code: 2 });
    for (const days of ["many", "0", "999999999"]) {
      const refused = await run(["usage", "--days", days]);
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain("--days must be a whole number from 1");
    }
    const lacking = await run(["models"], { OSTIARY_API_KEY: "", OSTIARY_MANAGEMENT_TOKEN: "" });
    expect(lacking.code).toBe(2);
    expect(lacking.stderr).toBe("No API key is set. Set the environment variable OSTIARY_API_KEY.\n");
    expect(await run(["models"], { OSTIARY_BASE_URL: "http://127.0.0.1:9" })).toMatchObject({ code: 1 });
    expect(await run(["--help"])).toMatchObject({ code: 0 });
  });
});
