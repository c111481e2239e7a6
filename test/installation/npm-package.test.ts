import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../server/src/database/database.ts";
import { databaseAddressOf } from "../fixtures/database.ts";
import { sendChat } from "../fixtures/request.ts";
import type { Ran } from "../fixtures/run-process.ts";
import { DENO } from "../fixtures/runtimes.ts";
import { logLines, ROOT } from "../fixtures/service.ts";
import { PASSWORD, signUp, visit } from "../fixtures/user.ts";

const MB = 1_000_000;
/** npm fetches the packages with binaries unless it has them. */
const INSTALL_TIMEOUT_MS = 300_000;
const TOOLS = ["esbuild", "typescript", "vitest", "vite", "rolldown", "tsx", "@biomejs", "deno", "bun"];
const COMMAND = "node_modules/.bin/ostiary-server";

type Environment = Readonly<Record<string, string>>;

let folder: string;
/** Projects that have installed the packed service: as it is, and with `--omit=optional`. */
let whole: string;
let bare: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-npm-"));
  const tarball = execFileSync(process.execPath, ["scripts/pack-server.mjs", folder], {
    cwd: ROOT,
    encoding: "utf8",
  }).trim();
  whole = await install(join(folder, "whole"), tarball);
  bare = await install(join(folder, "bare"), tarball, "--omit=optional");
}, INSTALL_TIMEOUT_MS);

afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

async function install(project: string, tarball: string, ...options: string[]): Promise<string> {
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{ "private": true }');
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline"];
  execFileSync("npm", ["install", ...quiet, ...options, tarball], { cwd: project, stdio: "ignore" });
  return project;
}

/** What an installation takes on the disk, in bytes. */
function sizeOf(project: string): number {
  const [kilobytes = ""] = execFileSync("du", ["-sk", join(project, "node_modules")], {
    encoding: "utf8",
  }).split("\t");
  return Number(kilobytes) * 1_024;
}

async function packagesIn(project: string): Promise<readonly string[]> {
  const names = await readdir(join(project, "node_modules"), { recursive: true });
  return names.filter((name) => !name.startsWith("ostiary-server/"));
}

function environmentOf(project: string, more: Environment): Environment {
  return {
    PATH: process.env.PATH ?? "",
    HOME: process.env.HOME ?? "",
    NO_COLOR: "1",
    PORT: "0",
    OSTIARY_LOCAL_MODELS: "0",
    OSTIARY_LOG: "warn",
    OSTIARY_DATA_DIR: join(project, "data"),
    ...more,
  };
}

function command(project: string, args: readonly string[], more: Environment = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd: project, env: environmentOf(project, more) };
    execFile(join(project, COMMAND), args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ code, stdout, stderr });
    });
  });
}

/** Runs the installed service until `use` is done. @returns its exit code after SIGTERM. */
async function whileItRuns(
  project: string,
  [program, ...args]: readonly [string, ...string[]],
  more: Environment,
  use: (baseUrl: string, printed: () => string) => Promise<void>,
): Promise<number | null> {
  const child = spawn(program, [...args, "start"], {
    cwd: project,
    env: environmentOf(project, { OSTIARY_LOG: "info", ...more }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  try {
    await use(await readyAddress(child), () => printed);
  } finally {
    child.kill("SIGTERM");
    await exited;
  }
  return exited;
}

/** Resolves with the address of the service when it says in its log that it is ready. */
function readyAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      const address = logLines(stderr).find(({ msg }) => msg === "ready")?.listensOn;
      if (typeof address === "string") resolve(address);
    });
    child.once("close", (code) => reject(new Error(`the service ended with ${code}: ${stderr}`)));
  });
}

describe("the installed package", () => {
  it("takes at most 150 MB with the bundled PostgreSQL, and 60 MB without", () => {
    expect(sizeOf(whole)).toBeLessThanOrEqual(150 * MB);
    expect(sizeOf(bare)).toBeLessThanOrEqual(60 * MB);
  });

  it("brings no compiler, test or build tool", async () => {
    const packages = await packagesIn(whole);
    expect(packages).toContain("oslo");
    expect(
      packages.filter((name) => TOOLS.some((tool) => name === tool || name.endsWith(`/${tool}`))),
    ).toEqual([]);
  });

  it("contains source maps, and the licenses of the packages in its bundles", async () => {
    const contents = join(whole, "node_modules/ostiary-server");
    const notices = await readFile(join(contents, "THIRD-PARTY-NOTICES.txt"), "utf8");
    for (const name of ["undici", "ioredis", "react", "zod"])
      expect(notices).toMatch(new RegExp(`^${name} \\d`, "m"));
    expect(await readdir(join(contents, "server/dist"))).toContain("main.js.map");
  });

  const deno = [DENO, "run", "-A", "--node-modules-dir=manual", "npm:ostiary-server"] as const;
  it.each([
    ["Node", [COMMAND]],
    ["Deno", deno],
  ] as const)("starts on %s, answers, and stops on SIGTERM", async (name, program) => {
    const data = { OSTIARY_DATA_DIR: join(whole, `data-${name}`) };
    const code = await whileItRuns(whole, program, data, async (baseUrl, printed) => {
      await expect.poll(printed).toMatch(/Bearer sk-\w+"/);
      const [, key = ""] = /Bearer (sk-\w+)/.exec(printed()) ?? [];
      const answer = await sendChat(baseUrl, key, { messages: [{ role: "user", content: "Hello!" }] });
      expect(await answer.json()).toMatchObject({ choices: [{ message: { content: "Hello!" } }] });
      for (const path of ["/", "/docs", "/sdk/ostiary.tgz", "/THIRD-PARTY-NOTICES.txt"]) {
        expect((await fetch(baseUrl + path)).status, path).toBe(200);
      }
    });
    expect(code).toBe(0);
  });

  it("signs people in without the optional packages, on a PostgreSQL of their own", async () => {
    const own = await startEmbeddedPostgres({ dataDir: join(folder, "own"), log: () => {} });
    const { host, port: number, user, password, database } = own.connection;
    const server = createServer((client) => {
      const upstream = connect(join(host, `.s.PGSQL.${number}`));
      client.pipe(upstream).pipe(client);
      client.on("error", () => upstream.destroy());
      upstream.on("error", () => client.destroy());
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const settings = { DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${port}/${database}` };
    try {
      const code = await whileItRuns(bare, [COMMAND], settings, async (baseUrl) => {
        const { email } = await signUp(baseUrl);
        await visit(baseUrl).trpc.auth.signIn.mutate({ email, password: PASSWORD });
        const wrong = visit(baseUrl).trpc.auth.signIn.mutate({ email, password: `${PASSWORD}!` });
        await expect(wrong).rejects.toThrow();
      });
      expect(code).toBe(0);
    } finally {
      server.close();
      await own.stop();
    }
  });

  it("says what to do when the bundled PostgreSQL is missing", async () => {
    const { code, stderr } = await command(bare, ["migrate"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/is not installed.*set DATABASE_URL/);
  });
});

describe("ostiary-server", () => {
  it("prints its version, and its commands when it gets none that exists", async () => {
    expect(await command(whole, ["--version"])).toMatchObject({ code: 0, stdout: "0.1.0\n" });
    for (const args of [[], ["migrat"]]) {
      const { code, stderr } = await command(whole, args);
      expect(code).toBe(2);
      expect(stderr).toMatch(/check-config|unknown command/);
    }
  });

  it("check-config shows what the settings mean, without their secrets", async () => {
    const settings = { DATABASE_URL: "postgres://me:hunter2@db.example/ostiary", OSTIARY_CATALOGUE: "x" };
    const { code, stdout, stderr } = await command(whole, ["check-config"], settings);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("database  db.example/ostiary\n");
    expect(stdout).toMatch(/warning {3}OSTIARY_CATALOGUE: .*Did you mean OSTIARY_CATALOG\?/);
    expect(stdout).not.toContain("hunter2");
  });

  it("check-config names all that is wrong with the environment and the catalog file", async () => {
    const catalog = join(whole, "catalog.yaml");
    await writeFile(
      catalog,
      "upstreams: {}\nmodels:\n  - id: a/b\n    routes: [{ upstream: missing, model: b }]\n",
    );
    const { code, stdout, stderr } = await command(whole, ["check-config"], {
      PORT: "http",
      OSTIARY_CATALOG: catalog,
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^PORT: must be a whole number/m);
    expect(stderr).toContain("catalog.yaml");
  });

  it("migrate creates the schema once", async () => {
    const data = { OSTIARY_DATA_DIR: join(whole, "migrated") };
    const first = await command(whole, ["migrate"], data);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/^applied 0001_/);
    const second = await command(whole, ["migrate"], data);
    expect(second).toEqual({ code: 0, stdout: "The schema is up to date.\n", stderr: "" });
  });

  it("operator needs no checkout", async () => {
    const { code, stderr } = await command(whole, ["operator", "accounts", "list"]);
    expect(code).toBe(2);
    expect(stderr).toContain("OSTIARY_MANAGEMENT_TOKEN is not set");
    const help = await command(whole, ["operator", "--help"]);
    expect(help.stdout).toMatch(/^Usage: ostiary-server operator /);
    expect(help.stdout).toContain("reconcile");
  });

  describe("backup-check", () => {
    let data: Environment;

    beforeAll(async () => {
      data = { OSTIARY_DATA_DIR: join(whole, "backup"), OSTIARY_DEMO: "0" };
      await whileItRuns(whole, [COMMAND], data, async (baseUrl) => {
        const owner = await signUp(baseUrl);
        const { key } = await owner.trpc.keys.create.mutate({ name: "app" });
        await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      });
    });

    /** Changes the database as somebody with its password can. */
    async function change(statement: string): Promise<void> {
      await whileItRuns(whole, [COMMAND], data, async () => {
        const service = { dataDir: data.OSTIARY_DATA_DIR ?? "" } as Parameters<typeof databaseAddressOf>[0];
        const sql = openDatabase(await databaseAddressOf(service), {
          maxConnections: 1,
          connectTimeoutS: 30,
        });
        await sql.unsafe(statement);
        await sql.end();
      });
    }

    it("is satisfied with what the service has recorded, and says what to do next", async () => {
      const { code, stdout, stderr } = await command(whole, ["backup-check"], data);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/audit log {4}1 entries of 1 accounts verified/);
      expect(stdout).toContain("stop the nodes");
    });

    it("refuses hours that are no number", async () => {
      expect(await command(whole, ["backup-check", "--hours", "all"], data)).toMatchObject({ code: 2 });
    });

    it("asks for migrate when the schema is older", async () => {
      const older = { OSTIARY_DATA_DIR: join(whole, "older") };
      const { code, stderr } = await command(whole, ["backup-check"], older);
      expect(code).toBe(1);
      expect(stderr).toContain('Run "ostiary-server migrate"');
    });

    it.each([
      ["a balance", "update accounts set free_nano_usd = free_nano_usd + 1", /the balance is \d+ nano-USD/],
      ["an entry", "update audit_entries set source_ip = '192.0.2.9'", /batch 1 of the audit log: changed/],
      ["an action", "update actions set source_ip = '192.0.2.9'", /the audit trail: position \d+: changed/],
    ])("finds %s that was changed", async (_, statement, found) => {
      await change(statement);
      const { code, stderr } = await command(whole, ["backup-check"], data);
      expect(code).toBe(1);
      expect(stderr).toMatch(found);
      expect(stderr).toContain("restore another backup");
    });
  });
});
