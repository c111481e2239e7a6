import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { writeCatalog } from "../fixtures/catalog.ts";
import { ROOT } from "../fixtures/service.ts";

const run = promisify(execFile);

/** Runs `ostiary-server check-config` with these settings alone. The output is without a warning about the version of Node. */
async function checkConfig(settings: Readonly<Record<string, string>>) {
  const command = [join(ROOT, "server/dist/ostiary-server.js"), "check-config"];
  const env = { PATH: process.env.PATH ?? "", ...settings };
  const { stdout, stderr } = await run(process.execPath, command, { cwd: "/", env });
  return { stdout: stdout.replace(/^warning {3}Node .*\n/m, ""), stderr };
}

describe("ostiary-server check-config", () => {
  it("writes a line for each problem", async () => {
    const settings = { PORT: "http", OSTIARY_DRAIN_S: "soon", OSTIARY_SIGN_UP: "open" };
    await expect(checkConfig(settings)).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^PORT: [^,]+\nOSTIARY_DRAIN_S: [^,]+\nOSTIARY_SIGN_UP: [^,]+\n$/),
    });
  });

  it("refuses quotation marks that are part of a value, as of a path, and names the setting once", async () => {
    const settings = { OSTIARY_DATA_DIR: '"/var/lib/ostiary"', PORT: "'8080'" };
    const stderr =
      "PORT: has quotation marks around its value. Remove them\nOSTIARY_DATA_DIR: has quotation marks around its value. Remove them\n";
    await expect(checkConfig(settings)).rejects.toMatchObject({ code: 1, stdout: "", stderr });
  });

  it("refuses them around a URL, a key and the path of a secret, and in the file of a secret", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ostiary-quoted-"));
    const file = join(folder, "redis-url");
    await writeFile(file, '"redis://:hunter2@127.0.0.1:6379"\n');
    const settings = {
      DATABASE_URL: '"postgres://me:hunter2@127.0.0.1/x"',
      REDIS_URL_FILE: file,
      OSTIARY_RESPONSES_KEY: "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='",
      OTEL_EXPORTER_OTLP_HEADERS_FILE: '"/run/secrets/otlp-headers"',
    };
    const failed = await checkConfig(settings).catch((error: { readonly stderr: string }) => error);
    await rm(folder, { recursive: true });
    const names = ["DATABASE_URL", "REDIS_URL", "OSTIARY_RESPONSES_KEY", "OTEL_EXPORTER_OTLP_HEADERS_FILE"];
    expect(failed.stderr).toBe(
      names.map((name) => `${name}: has quotation marks around its value. Remove them\n`).join(""),
    );
  });

  it("warns of a password with quotation marks around it, which may be meant", async () => {
    const operator = {
      OSTIARY_OPERATOR_EMAIL: "a@example.com",
      OSTIARY_OPERATOR_PASSWORD: '"hunter2 hunter2"',
    };
    const { stdout, stderr } = await checkConfig(operator);
    expect(stderr).toBe("");
    expect(stdout).toContain("warning   OSTIARY_OPERATOR_PASSWORD begins and ends with a quotation mark");
    expect(stdout).not.toContain("hunter2");
  });

  it("warns of names that are nearly those of settings without the prefix, unless they are set", async () => {
    const url = "postgres://127.0.0.1/x";
    const others = {
      DATABASE_USER: "x",
      DATABASE_NAME: "x",
      REDIS_PORT: "1",
      SSL_CERT_FILE: "x",
      TLS_CA_FILE: "x",
    };
    const { stdout } = await checkConfig({ ...others, DATABASE_URI: url, TRUSTED_PROXY: "10.0.0.1" });
    expect(stdout.match(/warning.*/g)).toEqual([
      "warning   DATABASE_URI: is not a setting of this service. Did you mean DATABASE_URL?",
      "warning   TRUSTED_PROXY: is not a setting of this service. Did you mean TRUSTED_PROXIES?",
    ]);
    expect((await checkConfig({ DATABASE_URI: url, DATABASE_URL: url })).stdout).not.toContain("warning");
  });

  it("warns of trusted proxies that include every client", async () => {
    for (const TRUSTED_PROXIES of ["0.0.0.0/0", "10.0.0.1, ::/0"]) {
      const { stdout } = await checkConfig({ TRUSTED_PROXIES });
      expect(stdout).toContain("warning   TRUSTED_PROXIES has a block of every address");
    }
    expect((await checkConfig({ TRUSTED_PROXIES: "10.0.0.0/8" })).stdout).not.toContain("warning");
  });

  it("warns of a setting for one start, which would remove running nodes at the next one", async () => {
    const { stdout } = await checkConfig({ OSTIARY_TAKE_OVER: "1" });
    expect(stdout).toMatch(/^warning {3}OSTIARY_TAKE_OVER=1 removes all other nodes .* at each start/m);
  });

  it.each([
    ["::1", "[::1]:81"],
    ["0.0.0.0", "0.0.0.0:81"],
  ])("shows where it listens with HOST=%s", async (HOST, address) => {
    expect((await checkConfig({ HOST, PORT: "81" })).stdout).toContain(`address   ${address}\n`);
  });

  it.each([
    ["redis://:hunter2@redis.example/2", "redis.example/2"],
    ["redis+cluster://:hunter2@a.example:7000,b.example", "a.example:7000, b.example:6379"],
    ["rediss+sentinel://a.example:26379,b.example:26379/main", "a.example:26379, b.example:26379"],
  ])("shows where %s leads, without its password", async (url, servers) => {
    const { stdout, stderr } = await checkConfig({ REDIS_URL: url });
    expect(stderr).toBe("");
    expect(stdout).toContain(`redis     ${servers}\n`);
    expect(stdout).not.toContain("hunter2");
  });

  it.each([
    ["DATABASE_URL", "postgres://me:hunt/er2@127.0.0.1:5432/x"],
    ["DATABASE_URL", "postgres://me:12/hunter2@127.0.0.1:5432/x"],
    ["DATABASE_URL", "postgres://me:hunt@er2/hunter2@127.0.0.1:5432/x"],
    ["DATABASE_URL", "postgres://me:12#hunter2@127.0.0.1:5432/x"],
    ["DATABASE_URL", "postgres://me:12?hunter2@127.0.0.1:5432/x"],
    ["DATABASE_URL", "postgres://me:hunt%er2@127.0.0.1:5432/x"],
    ["REDIS_URL", "redis://me:hunt/er2@127.0.0.1:6379"],
    ["REDIS_URL", "redis://me:12#hunter2@127.0.0.1:6379"],
    ["REDIS_URL", "redis://me:12?hunter2@127.0.0.1:6379"],
    ["REDIS_URL", "redis://me:hunt%er2@127.0.0.1:6379"],
  ])("names the characters to encode in a password of %s, and repeats none of it: %s", async (name, url) => {
    const refused = { code: 1, stdout: "", stderr: expect.stringMatching(/^\w+_URL: .*percent-encode/) };
    await expect(checkConfig({ [name]: url })).rejects.toMatchObject(refused);
    const { stderr } = await checkConfig({ [name]: url }).catch((error) => error);
    expect(stderr).not.toMatch(/hunt|er2|12/);
  });

  it("refuses headers that would be left out, without repeating them", async () => {
    const stderr =
      "OTEL_EXPORTER_OTLP_HEADERS: must be headers such as authorization=Bearer%20…, separated by commas\n";
    for (const value of ["authorization: Bearer hunter2", "Bearer hunter2", "a=1,hunter2"])
      await expect(checkConfig({ OTEL_EXPORTER_OTLP_HEADERS: value })).rejects.toMatchObject({ stderr });
    const { stdout } = await checkConfig({ OTEL_EXPORTER_OTLP_HEADERS: "a=1, x-key=hunter2==," });
    expect(stdout).toContain("valid");
  });

  it("refuses attributes of traces that would all be left out", async () => {
    const stderr = expect.stringMatching(/^OTEL_RESOURCE_ATTRIBUTES: must be attributes such as /);
    for (const value of ["staging", "a=1,b=2=3", "a=100%"])
      await expect(checkConfig({ OTEL_RESOURCE_ATTRIBUTES: value })).rejects.toMatchObject({
        code: 1,
        stderr,
      });
    const { stdout } = await checkConfig({ OTEL_RESOURCE_ATTRIBUTES: "a=1, b.c=100%25," });
    expect(stdout).toContain("valid");
  });

  it.each(["prod", "Production"])(
    "refuses NODE_ENV=%s, with which the service would run in demo mode",
    async (NODE_ENV) => {
      const stderr = expect.stringMatching(
        /^NODE_ENV: must be production, in full and in lower case\. .*\n$/,
      );
      await expect(checkConfig({ NODE_ENV })).rejects.toMatchObject({ code: 1, stdout: "", stderr });
    },
  );

  it("refuses a public URL that does not name one host", async () => {
    const stderr =
      "OSTIARY_PUBLIC_URL: must have a scheme, a host and a port only, such as https://ostiary.example.com\n";
    for (const OSTIARY_PUBLIC_URL of ["https://*.example.com", "https://example.com/models"])
      await expect(checkConfig({ OSTIARY_PUBLIC_URL })).rejects.toMatchObject({ code: 1, stderr });
  });

  it("says that a port of DATABASE_URL is none", async () => {
    const settings = { DATABASE_URL: "postgres://me:secret@[::1]:99999/x" };
    const stderr = "DATABASE_URL: must have a port from 1 to 65535\n";
    await expect(checkConfig(settings)).rejects.toMatchObject({ code: 1, stderr });
  });

  it("says that DATABASE_URL names no host", async () => {
    const stderr = expect.stringMatching(/^DATABASE_URL: must be a URL such as postgres:/);
    await expect(checkConfig({ DATABASE_URL: "postgres:///x" })).rejects.toMatchObject({ code: 1, stderr });
  });

  it("refuses a server of DATABASE_URL that the service could not use", async () => {
    const of = (server: string) => ({
      DATABASE_URL: `postgres://me:secret@db.example/x?target_session_attrs=${server}`,
    });
    const stderr = expect.stringMatching(/^DATABASE_URL: must not have this value of target_session_attrs/);
    for (const server of ["any", "standby"])
      await expect(checkConfig(of(server))).rejects.toMatchObject({ code: 1, stderr });
    expect((await checkConfig(of("read-write"))).stderr).toBe("");
  });

  it.each([
    [
      "sslmode=bogus",
      "must have a known value of sslmode: disable, allow, prefer, require, verify-ca, verify-full",
    ],
    ["sslrootcert=/ca.crt", "must not have the parameter sslrootcert: of libpq's"],
    ["sslmode=require&channel_binding=require", "must not have the parameter channel_binding: of libpq's"],
    ["schema=public", "must not have the parameter schema: of libpq's"],
    ["prepare=false", "must not have the parameter prepare: the service decides how it connects"],
    ["max=5", "must not have the parameter max: the service decides how it connects"],
    ["statement_timeout=abc", "must have a time as statement_timeout"],
    ["Statement_Timeout=99999999999", "must have a time as statement_timeout"],
    ["lock_timeout=-1", "must have a time as lock_timeout"],
    ["datestyle=German", "must not have this value of datestyle"],
  ])("refuses %s in DATABASE_URL as the start does", (parameters, problem) => {
    const DATABASE_URL = `postgres://me:secret@db.example/x?${parameters}`;
    expect(() => readConfig({ DATABASE_URL })).toThrow(`DATABASE_URL: ${problem}`);
  });

  it.each([
    "sslmode=verify-full&statement_timeout=1.5s",
    "lock_timeout=100",
    "search_path=a",
    "connect_timeout=10",
    "sslrootcert=",
    "client_encoding=UTF8",
  ])("accepts %s in DATABASE_URL", (parameters) => {
    const DATABASE_URL = `postgres://me:secret@db.example/x?${parameters}`;
    expect(readConfig({ DATABASE_URL }).databaseUrl).toBe(DATABASE_URL);
  });

  it("says that DATABASE_URL names one host", async () => {
    const stderr = expect.stringMatching(/^DATABASE_URL: must name one host[^\n]*primary[^\n]*\n$/);
    for (const hosts of ["a.example:5432,b.example:5432", "a.example,b.example"]) {
      const settings = { DATABASE_URL: `postgres://me:secret@${hosts}/x` };
      await expect(checkConfig(settings)).rejects.toMatchObject({ code: 1, stderr });
    }
  });

  it.each([
    ["HTTP_PROXY", "http://a.example\nb.example:3128"],
    ["HTTPS_PROXY", "a.example\tb.example"],
    ["DATABASE_URL", "postgres://me:secret@a.example\r\nb.example/x"],
    ["REDIS_URL", "redis://me:secret@a.example\nb.example"],
    ["OSTIARY_PUBLIC_URL", "https://a.example\nb.example"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "https://a.example\nb.example"],
  ])("refuses a URL of several lines in %s, which would become one host", (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(`${name}: must be a URL on one line`);
  });

  it("refuses a file of several addresses where one is expected", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "ostiary-proxy-")), "proxy");
    await writeFile(file, "http://a.example\nb.example:3128\n");
    const refused = { code: 1, stderr: "HTTPS_PROXY: must be a URL on one line\n" };
    await expect(checkConfig({ HTTPS_PROXY_FILE: file })).rejects.toMatchObject(refused);
    await writeFile(file, "http://a.example:3128\r\n");
    expect(readConfig({ HTTPS_PROXY_FILE: file }).upstreamProxies.https).toBe("http://a.example:3128");
    await rm(dirname(file), { recursive: true });
  });

  it("does not repeat a secret in the place of its file or its variable", async () => {
    const upstream = { dialect: "openai", baseUrl: "https://models.example/v1" };
    await using catalog = await writeCatalog({
      upstreams: {
        a: { ...upstream, credentialEnv: "gsk_7hunter2hunter2" },
        b: { ...upstream, credentialEnv: "sk-proj-hunter2" },
        c: { ...upstream, credentialFile: "sk-ant-hunter2" },
        d: { ...upstream, credentialFile: "/run/secrets/absent" },
        e: { ...upstream, credentialEnv: "ABSENT_API_KEY_2" },
      },
      models: [{ id: "x", routes: [{ upstream: "a" }] }],
    });
    const settings = {
      OSTIARY_CATALOG: catalog.file,
      DATABASE_URL_FILE: "postgres://root:hunter2@database.example/x",
      REDIS_URL_FILE: "/run/secrets/absent",
      OSTIARY_RESPONSES_KEY_FILE: "/hunter2hunter2hunter2hunter2hunter2hunter2=",
      OSTIARY_OPERATOR_PASSWORD_FILE: "hunter2",
      DATABASE_CA_FILE: "-----BEGIN hunter2",
      TLS_KEY_FILE: "-----BEGIN PRIVATE KEY-----\nhunter2",
      TLS_CERT_FILE: "/run/secrets/absent",
    };
    const failed = checkConfig(settings).catch((error: { readonly stderr: string }) => error);
    const { stderr } = await failed;
    expect(stderr).not.toContain("hunter2");
    for (const line of [
      "DATABASE_URL_FILE: the file that it names cannot be read: it does not exist",
      "REDIS_URL_FILE: the file /run/secrets/absent cannot be read: it does not exist",
      "upstreams.a.credentialEnv: the variable that it names is not set",
      "upstreams.d.credentialFile: the file /run/secrets/absent cannot be read: it does not exist",
      "upstreams.e.credentialEnv: the variable ABSENT_API_KEY_2 is not set",
    ])
      expect(stderr).toContain(line);
  });
});
