import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../fixtures/free-port.ts";
import { ROOT, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { buildManifests, type Manifests, MISSING_GO } from "./manifests.ts";

const FOLDER = join(ROOT, "deploy/compose");
const BUILD_TIMEOUT_MS = 900_000;
const isInstalled = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const hasCaddy = spawnSync("caddy", ["version"]).error === undefined;
if (!hasCaddy) process.stderr.write("The proxy of the Compose project is not tested: it needs caddy.\n");

interface ComposeService {
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly ports?: readonly unknown[];
  readonly stop_grace_period?: string;
  readonly networks?: Readonly<Record<string, unknown>>;
}

interface Project {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<
    Record<string, { readonly ipam: { readonly config?: readonly { readonly subnet: string }[] } }>
  >;
}

describe.skipIf(MISSING_GO !== null)("the Compose project", () => {
  let manifests: Manifests;
  let project: Project;

  beforeAll(() => {
    manifests = buildManifests();
    const { status, stdout, stderr } = manifests.run(["compose", join(FOLDER, "compose.yaml")]);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    project = JSON.parse(stdout) as Project;
  }, BUILD_TIMEOUT_MS);

  afterAll(() => manifests[Symbol.dispose]());

  it("contains no secret, and gives each as a file", () => {
    for (const [name, { environment = {} }] of Object.entries(project.services)) {
      for (const [variable, value] of Object.entries(environment)) {
        if (!/(PASSWORD|SECRET|KEY|_URL)/.test(variable) || variable === "OSTIARY_PUBLIC_URL") continue;
        expect(`${name} ${variable}`).toMatch(/_FILE$/);
        expect(value).toMatch(/^\/secrets\//);
      }
    }
  });

  it("shows only the proxy, which alone is trusted, and starts each part after what it needs", () => {
    const { services, networks } = project;
    const shown = Object.entries(services).filter(([, { ports = [] }]) => ports.length > 0);
    expect(shown.map(([name]) => name)).toEqual(["proxy"]);
    expect(Object.keys(services.proxy?.networks ?? {})).toEqual(["front"]);
    expect(services.ostiary?.environment?.TRUSTED_PROXIES).toBe(networks.front?.ipam.config?.[0]?.subnet);
    expect(services.ostiary).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      stop_grace_period: "1m0s",
      depends_on: {
        migrate: { condition: "service_completed_successfully" },
        valkey: { condition: "service_healthy" },
      },
    });
    expect(services.migrate?.depends_on).toMatchObject({ postgres: { condition: "service_healthy" } });
    expect(services.postgres?.depends_on).toMatchObject({
      secrets: { condition: "service_completed_successfully" },
    });
  });
});

describe("the secrets of the Compose project", () => {
  let folder: string;
  const make = () => execFileSync("sh", [join(FOLDER, "make-secrets.sh"), folder], { encoding: "utf8" });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "ostiary-secrets-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function all(): Promise<Record<string, string>> {
    const names = await readdir(folder, { recursive: true });
    const files = [];
    for (const name of names.sort()) if ((await stat(join(folder, name))).isFile()) files.push(name);
    return Object.fromEntries(
      await Promise.all(files.map(async (name) => [name, await readFile(join(folder, name), "utf8")])),
    );
  }

  it("are generated once, each another one, and are not printed", async () => {
    const printed = make();
    const secrets = await all();
    expect(Object.keys(secrets)).toEqual([
      "ostiary/database-url",
      "ostiary/operator-password",
      "ostiary/redis-url",
      "ostiary/responses-key",
      "postgres/password",
      "valkey/valkey.conf",
    ]);
    const random = Object.values(secrets).map((text) => /[0-9a-f]{64}/.exec(text)?.[0] ?? "none");
    // The database's and Redis' are in two files each.
    expect(new Set(random).size).toBe(4);
    expect(random).not.toContain("none");
    for (const secret of random) expect(printed).not.toContain(secret);
    expect(make()).toBe("");
    expect(await all()).toEqual(secrets);
    expect((await stat(join(folder, "ostiary/database-url"))).mode & 0o777).toBe(0o400);
  });

  it("are made whole after a start that was cut off", async () => {
    const before = await all();
    await rm(join(folder, "valkey/valkey.conf"));
    make();
    const after = await all();
    const [password] = /[0-9a-f]{64}/.exec(after["valkey/valkey.conf"] ?? "") ?? [];
    expect(after["ostiary/redis-url"]).toBe(`redis://:${password}@valkey:6379`);
    expect(after["ostiary/redis-url"]).not.toBe(before["ostiary/redis-url"]);
    expect(new URL(after["ostiary/database-url"] ?? "").password).toBe(after["postgres/password"]);
  });

  it.skipIf(!isInstalled("redis-server"))(
    "open the Redis that starts with them, and nothing else does",
    async () => {
      const { "valkey/valkey.conf": settings = "", "ostiary/redis-url": url = "" } = await all();
      const port = String(await freePort());
      const file = join(folder, "redis.conf");
      await appendFile(file, `${settings}port ${port}\nbind 127.0.0.1\ndir ${folder}\n`);
      const server = spawn("redis-server", [file], { stdio: "ignore" });
      try {
        const ask = (...args: string[]) =>
          spawnSync("redis-cli", ["-p", port, ...args], { encoding: "utf8" }).stdout;
        await expect.poll(() => ask("ping")).toContain("NOAUTH");
        const { password } = new URL(url);
        expect(ask("--no-auth-warning", "-a", password, "config", "get", "maxmemory-policy")).toContain(
          "noeviction",
        );
      } finally {
        server.kill("SIGKILL");
      }
    },
  );
});

describe.skipIf(!hasCaddy)("the proxy of the Compose project", () => {
  it("terminates TLS, and tells the service who asks", async () => {
    const home = await mkdtemp(join(tmpdir(), "ostiary-proxy-"));
    await using service = await startService({
      env: { TRUSTED_PROXIES: "127.0.0.1", OSTIARY_PRESTOP_S: "0" },
    });
    const port = await freePort();
    const proxy = spawn("caddy", ["run", "--config", join(FOLDER, "Caddyfile")], {
      env: {
        PATH: process.env.PATH,
        HOME: home,
        XDG_DATA_HOME: home,
        XDG_CONFIG_HOME: home,
        OSTIARY_HTTP_PORT: String(await freePort()),
        OSTIARY_HTTPS_PORT: String(port),
        OSTIARY_UPSTREAM: new URL(service.baseUrl).host,
      },
      stdio: "ignore",
    });
    try {
      const owner = await signUpWithKey(service.baseUrl);
      const authority = () => readFile(join(home, "caddy/pki/authorities/local/root.crt"));
      const ask = async () => statusByHttps(port, await authority(), owner.key).catch(String);
      await expect.poll(ask).toBe(200);
      const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
      // Not the proxy's own word of the address, but the client's, which is on this machine too.
      expect(entries[0]).toMatchObject({ status: 200, sourceIp: "127.0.0.1" });
    } finally {
      proxy.kill("SIGTERM");
      await once(proxy, "exit");
      await rm(home, { recursive: true, force: true });
    }
  });
});

function statusByHttps(port: number, ca: Buffer, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, ca, servername: "localhost", path: "/v1/models" };
    const headers = { host: `localhost:${port}`, authorization: `Bearer ${key}` };
    request({ ...options, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    })
      .on("error", reject)
      .end();
  });
}
