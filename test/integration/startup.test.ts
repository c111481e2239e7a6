import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logLines, runToExit, type ServiceExit, startService } from "../fixtures/service.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-startup-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** What a person sees: no stack trace, no secrets, a non-zero exit code. */
function lines(exit: ServiceExit): readonly string[] {
  expect(exit.code).toBe(1);
  expect(exit.stdout).toBe("");
  expect(exit.reasons.join("\n")).not.toMatch(/^\s+at /m);
  return exit.reasons;
}

describe("a service that can't start", () => {
  it("reports every invalid variable at once", async () => {
    const exit = await runToExit({
      env: {
        PORT: "eighty",
        DATABASE_URL: "mysql://root:hunter2@localhost/x",
        REDIS_URL: "nonsense",
        OSTIARY_SIGNUP: "maybe",
        TRUSTED_PROXIES: "10.0.0.0/8, 10.0.0.0/99",
        AUDIT_DURABILITY: "never",
        OSTIARY_LOG: "loud",
        // What does not fit together is told as well.
        OSTIARY_OPERATOR_EMAIL: "operator@example.com",
        OSTIARY_MAX_UNFINISHED_BODY_BYTES: "1048576",
      },
    });
    const problems = lines(exit);
    expect(problems.map((line) => line.split(":", 1)[0])).toEqual([
      "PORT",
      "DATABASE_URL",
      "REDIS_URL",
      "OSTIARY_SIGNUP",
      "TRUSTED_PROXIES",
      "AUDIT_DURABILITY",
      "OSTIARY_LOG",
      "OSTIARY_OPERATOR_PASSWORD",
      "OSTIARY_MAX_UNFINISHED_BODY_BYTES",
    ]);
    expect(exit.stderr).toContain("10.0.0.0/99");
    expect(exit.stderr).not.toContain("hunter2");
  });

  it("reports that request bodies would have no room", async () => {
    const env = { OSTIARY_MAX_BODY_BYTES: "2000000", OSTIARY_MAX_UNFINISHED_BODY_BYTES: "3999999" };
    const [line, ...others] = lines(await runToExit({ env }));
    expect(line).toContain("OSTIARY_MAX_UNFINISHED_BODY_BYTES: must be at least twice");
    expect(others).toEqual([]);
  });

  it("reports that a body of the maximum size could not be read as text", async () => {
    const [line] = lines(await runToExit({ env: { OSTIARY_MAX_BODY_BYTES: "536870889" } }));
    expect(line).toBe("OSTIARY_MAX_BODY_BYTES: must be a whole number from 1024 to 536870888");
    expect(() => "x".repeat(536_870_889)).toThrow(RangeError);
  });

  it("reports that the catalog file is missing", async () => {
    const path = join(folder, "absent.yaml");
    const [line, ...others] = lines(await runToExit({ env: { OSTIARY_CATALOG: path } }));
    expect(line).toContain(path);
    expect(others).toEqual([]);
  });

  it("reports where the catalog file is invalid", async () => {
    const path = join(folder, "broken.yaml");
    await writeFile(path, "upstreams: {}\nmodels:\n  - id: a\n    routes: [{ upstream: nowhere }]\n");
    const exit = await runToExit({ env: { OSTIARY_CATALOG: path } });
    expect(lines(exit).join("\n")).toContain("models[0].routes[0].upstream");
  });

  it("reports faults of environment, plans and catalog together, with misspelt names", async () => {
    const path = join(folder, "two-faults.yaml");
    await writeFile(
      path,
      "upstreams: { m: { dialect: google, credentialEnv: ABSENT_KEY } }\nmodels: [{ id: a, routes: [{ upstream: x }] }]\n",
    );
    const exit = await runToExit({
      env: {
        PORT: "eighty",
        OSTIARY_PLANS: '{"free":{"requestsPerMinute":-1}}',
        OSTIARY_CATALOG: path,
        OSTIARY_SIGNUPS: "closed",
        OSTIARY_DATABASE_URL: "postgres://127.0.0.1/x",
        OSTIARY_FOO: "1",
        OSTIARY_LOGS: "warn",
      },
    });
    const report = lines(exit);
    expect(report).toHaveLength(8);
    expect(report[0]).toContain("PORT");
    expect(report[1]).toContain("OSTIARY_PLANS: free.requestsPerMinute");
    expect(report.slice(2, 4).join("\n")).toContain("models[0].routes[0].upstream");
    expect(report.slice(2, 4).join("\n")).toContain("the variable ABSENT_KEY is not set");
    expect(report.slice(4)).toEqual([
      "OSTIARY_DATABASE_URL: is not a setting of this service. Did you mean DATABASE_URL?",
      // No setting has a name that is nearly this one, though a few letters change any short name into another.
      "OSTIARY_FOO: is not a setting of this service",
      "OSTIARY_LOGS: is not a setting of this service. Did you mean OSTIARY_LOG?",
      "OSTIARY_SIGNUPS: is not a setting of this service. Did you mean OSTIARY_SIGNUP?",
    ]);
  });

  it("reports that the database can't be reached, without its password", async () => {
    const exit = await runToExit({ env: { DATABASE_URL: "postgres://me:hunter2@127.0.0.1:9/x" } });
    const [line, ...others] = lines(exit);
    expect(line).toContain("DATABASE_URL");
    expect(line).toContain("127.0.0.1:9/x");
    expect(exit.stderr).not.toContain("hunter2");
    expect(others).toEqual([]);
  });

  it("connects to the IPv6 address of a database", async () => {
    const [line] = lines(await runToExit({ env: { DATABASE_URL: "postgres://me:hunter2@[::1]:9/x" } }));
    expect(line).toMatch(/\(PostgreSQL at \[::1\]:9\/x\): connect E[A-Z]+ ::1:9/);
  });

  it("reports that Redis can't be reached", async () => {
    const exit = await runToExit({ env: { REDIS_URL: "redis://:hunter2@127.0.0.1:9" } });
    expect(lines(exit).at(-1)).toContain("REDIS_URL (127.0.0.1:9)");
    expect(exit.stderr).not.toContain("hunter2");
  });

  it.each(["PORT", "OSTIARY_METRICS_PORT"])("reports that the port of %s is in use", async (setting) => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const exit = await runToExit({ env: { OSTIARY_LOG: "info", [setting]: String(port) } });
    const [line, ...others] = lines(exit);
    other.close();
    expect(line).toContain(`Port ${port}`);
    expect(line).toContain(`set ${setting} to another port`);
    expect(others).toEqual([]);
    // Nothing follows that looks like the stop of a service that ran.
    expect(logLines(exit.stderr).at(-1)?.msg).toBe(line);
  });

  it("reports that its port belongs to a connection, and that no process listens on it", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const client = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
    await once(client, "connect");
    const [line, ...others] = lines(await runToExit({ env: { PORT: String(client.localPort) } }));
    client.destroy();
    server.close();
    expect(line).toMatch(
      /No process listens on it.* Start again in a minute, or set PORT to another port\.$/,
    );
    expect(others).toEqual([]);
  });

  it.each(["http://127.0.0.1", "[::1]", "127.0.0.1:80", "a b", "999.1.1.1", "10.0.0"])(
    "reports that HOST is no host: %s",
    async (HOST) => {
      const [line, ...others] = lines(await runToExit({ env: { HOST } }));
      expect(line).toMatch(/^HOST: must be an address or a name/);
      expect(others).toEqual([]);
    },
  );

  it("reports that another service uses the data folder", async () => {
    await using first = await startService();
    const [line, ...others] = lines(
      await runToExit({
        dataDir: first.dataDir,
        ...(first.databaseUrl === undefined ? {} : { databaseUrl: first.databaseUrl }),
      }),
    );
    expect(line).toContain(first.dataDir);
    expect(others).toEqual([]);
  });
});

describe("a setting that is misspelt", () => {
  it("is reported with the likely name", async () => {
    await using service = await startService({ env: { OSTIARY_CATALOGUE: "x" } });
    expect(service.stderr()).toContain(
      "OSTIARY_CATALOGUE: is not a setting of this service. Did you mean OSTIARY_CATALOG?",
    );
  });
});
