import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectSecure } from "node:tls";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { writeCatalog } from "../fixtures/catalog.ts";
import { Authority, type Certificate, hasOpenSsl, servedFingerprint } from "../fixtures/certificate.ts";
import { chunkOf, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { startRedis } from "../fixtures/redis.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { logLines, RUNTIME, runToExit, type Service, startService } from "../fixtures/service.ts";
import { startTlsTerminator } from "../fixtures/tls-terminator.ts";
import { signUpWithKey, visit } from "../fixtures/user.ts";

const DATABASE_SERVER = process.env.OSTIARY_TEST_DATABASE_URL;
const withOpenSsl = describe.skipIf(!hasOpenSsl);

let authority: Authority;
let folder: string;
const defaultDispatcher = getGlobalDispatcher();

beforeAll(async () => {
  if (!hasOpenSsl) return;
  authority = new Authority();
  folder = await mkdtemp(join(tmpdir(), "ostiary-tls-"));
  setGlobalDispatcher(new Agent({ connect: { ca: authority.pem } }));
});

afterAll(async () => {
  setGlobalDispatcher(defaultDispatcher);
  authority?.[Symbol.dispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Writes a certificate and its key, and returns the settings that name them. */
async function written({ cert, key }: Certificate, into = folder) {
  await mkdir(into, { recursive: true });
  const files = { TLS_CERT_FILE: join(into, "tls.crt"), TLS_KEY_FILE: join(into, "tls.key") };
  await writeFile(files.TLS_CERT_FILE, cert);
  await writeFile(files.TLS_KEY_FILE, key);
  return files;
}

function brokenLines(service: Service) {
  return logLines(service.stderr()).filter(({ msg }) => msg?.startsWith("the TLS certificate can't be used"));
}

/** The statuses of requests that browsers send by HTTP/2: two from a page of the dashboard, and the same two from another page. */
async function sessionsByHttp2(baseUrl: string): Promise<unknown[]> {
  const owner = await signUpWithKey(baseUrl);
  const session = connectHttp2(baseUrl, { ca: authority.pem });
  const statusFrom = async (origin: string, path: string, method = "GET") => {
    const headers = { origin, cookie: owner.cookie(), "content-type": "application/json" };
    const stream = session.request({ ":path": path, ":method": method, ...headers }).resume();
    stream.end(method === "POST" ? "{}" : undefined);
    const [response] = await once(stream, "response");
    return response[":status"];
  };
  const statuses: unknown[] = [];
  for (const origin of [baseUrl, "https://evil.example"]) {
    statuses.push(await statusFrom(origin, "/dashboard/audit/export"));
    statuses.push(await statusFrom(origin, "/trpc/auth.signOut", "POST"));
  }
  session.close();
  return statuses;
}

withOpenSsl("a service with a certificate", () => {
  let service: Service;

  beforeAll(async () => {
    const drain: Record<string, string> = RUNTIME === "deno" ? {} : { OSTIARY_DRAIN_S: "3600" };
    service = await startOperatedService({
      env: { ...(await written(authority.sign())), ...drain, HOST: "0.0.0.0" },
    });
  });

  afterAll(() => service?.[Symbol.asyncDispose]());

  it("speaks HTTPS: the API, the dashboard's session by a secure cookie, and HSTS", async () => {
    expect(service.baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const { key } = await signUpWithKey(service.baseUrl);
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    const page = await fetch(service.baseUrl);
    expect(page.headers.get("strict-transport-security")).toBe("max-age=31536000");
    await page.text();

    const signUp = (origin: string) =>
      fetch(`${service.baseUrl}/trpc/auth.signUp`, {
        method: "POST",
        headers: { "content-type": "application/json", origin },
        body: JSON.stringify({
          json: { email: `${crypto.randomUUID()}@example.com`, password: "long enough", accountName: "A" },
        }),
      });
    const own = await signUp(service.baseUrl);
    expect(own.status).toBe(200);
    expect(own.headers.get("set-cookie")).toMatch(/^__Host-ostiary_session=.*;.*Secure/);
    expect((await signUp(service.baseUrl.replace("https:", "http:"))).status).toBe(403);
    if (RUNTIME === "deno") expect(await sessionsByHttp2(service.baseUrl)).toEqual([200, 200, 403, 403]);

    const operator = await signInOperator(service.baseUrl);
    expect(await operator.trpc.operator.warnings.query()).toEqual({ warnings: [] });
  });

  it("streams answers", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const response = await sendChat(service.baseUrl, key, { model: "sandbox/lorem", stream: true });
    expect(await response.text()).toContain("data: [DONE]");
  });

  it("closes connections that speak no TLS, and serves others", async () => {
    const plain = connectionTo(service);
    plain.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    plain.resume();
    await once(plain, "close");
    expect((await fetch(`${service.baseUrl}/healthz`)).status).toBe(200);
  });

  // Deno's server waits for such a connection as for a running request, until the drain time is over.
  it.skipIf(RUNTIME === "deno")("is not kept from stopping by a connection that says nothing", async () => {
    const silent = connectionTo(service);
    await once(silent, "connect");
    expect(await service.stop()).toBe(0);
    silent.destroy();
  });
});

function addressOf(service: Service) {
  const { hostname, port } = new URL(service.baseUrl);
  return { host: hostname, port: Number(port) };
}

const connectionTo = (service: Service) => connect(addressOf(service)).on("error", () => {});

withOpenSsl("a certificate that is replaced", () => {
  it("is used by new connections, also when its folder is replaced by a link as in Kubernetes", async () => {
    const mount = await mkdtemp(join(folder, "mount-"));
    const [first, second] = [authority.sign(), authority.sign()];
    await written(first, join(mount, "..first"));
    await symlink("..first", join(mount, "..data"));
    const env: Record<string, string> = { OSTIARY_LOG: "info" };
    for (const [name, file] of [
      ["TLS_CERT_FILE", "tls.crt"],
      ["TLS_KEY_FILE", "tls.key"],
    ] as const) {
      await symlink(`..data/${file}`, join(mount, file));
      env[name] = join(mount, file);
    }
    await using service = await startService({ env });
    const { key } = await signUpWithKey(service.baseUrl);
    expect(await servedFingerprint(service.baseUrl, authority.pem)).toBe(first.fingerprint);

    await written(second, join(mount, "..second"));
    await symlink("..second", join(mount, "..new"));
    await rename(join(mount, "..new"), join(mount, "..data"));
    await expect
      .poll(() => servedFingerprint(service.baseUrl, authority.pem), { timeout: 20_000 })
      .toBe(second.fingerprint);
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    const reloaded = logLines(service.stderr()).filter(({ msg }) => msg === "reloaded the TLS certificate");
    expect(reloaded).toMatchObject([{ level: "info", expiresAt: expect.stringMatching(/^20\d\d-/) }]);
  });

  it("does not end open streams, nor keep the service from stopping while an answer is not read", async () => {
    let finish = () => {};
    await using upstream = await startModelServer(({ response }) => {
      response.setHeader("content-type", "text/event-stream").write(chunkOf({ content: "half" }));
      finish = () => response.end(`${chunkOf({}, "stop")}data: [DONE]\n\n`);
    });
    await using catalog = await writeCatalog({
      upstreams: { main: { dialect: "openai", baseUrl: upstream.baseUrl } },
      models: [{ id: "acme/chat", routes: [{ upstream: "main", model: "inner" }] }],
    });
    const own = await mkdtemp(join(folder, "open-"));
    const second = authority.sign();
    const files = await written(authority.sign(), own);
    await using service = await startService({
      env: { ...files, OSTIARY_CATALOG: catalog.file, OSTIARY_DRAIN_S: "0" },
    });
    const { key } = await signUpWithKey(service.baseUrl);
    const stream = await sendChat(service.baseUrl, key, { model: "acme/chat", stream: true });
    const unread = connectSecure({ ...addressOf(service), ca: authority.pem }).on("error", () => {});
    await once(unread, "secureConnect");
    unread.write("GET /docs HTTP/1.1\r\nhost: x\r\n\r\n".repeat(300));

    await written(second, own);
    process.kill(service.pid, "SIGHUP");
    await expect
      .poll(() => servedFingerprint(service.baseUrl, authority.pem), { timeout: 20_000 })
      .toBe(second.fingerprint);
    finish();
    expect(await stream.text()).toContain("[DONE]");
    expect(await service.stop()).toBe(0);
    unread.destroy();
  });

  it("stays in use while what replaces it is broken, which is logged once", async () => {
    const own = await mkdtemp(join(folder, "broken-"));
    const [first, second] = [authority.sign(), authority.sign()];
    const files = await written(first, own);
    await using service = await startService({ env: files });
    const served = () => servedFingerprint(service.baseUrl, authority.pem);

    await writeFile(files.TLS_CERT_FILE, second.cert);
    process.kill(service.pid, "SIGHUP");
    await expect
      .poll(() => brokenLines(service), { timeout: 20_000 })
      .toMatchObject([
        { level: "error", problem: expect.stringContaining("is not the key of the certificate") },
      ]);
    expect(await served()).toBe(first.fingerprint);
    await writeFile(files.TLS_CERT_FILE, "nonsense");
    await expect.poll(() => brokenLines(service).length, { timeout: 20_000 }).toBe(2);
    expect(await served()).toBe(first.fingerprint);
    // The key first, so that the pair is never that of two certificates.
    const expired = authority.expired();
    await writeFile(files.TLS_KEY_FILE, expired.key);
    await writeFile(files.TLS_CERT_FILE, expired.cert);
    await expect.poll(() => brokenLines(service)[2]?.problem, { timeout: 20_000 }).toMatch(/ expired at 20/);
    expect(await served()).toBe(first.fingerprint);
    expect(brokenLines(service)).toHaveLength(3);

    await written(second, own);
    process.kill(service.pid, "SIGHUP");
    await expect.poll(served, { timeout: 20_000 }).toBe(second.fingerprint);
    expect(service.stderr()).not.toContain("PRIVATE KEY");
  });
});

withOpenSsl("a certificate that has expired", () => {
  it("is used, with a warning at start and when it is reloaded", async () => {
    const into = join(folder, "expired");
    await using service = await startService({ env: await written(authority.expired(), into) });
    const warnings = () =>
      logLines(service.stderr()).filter(({ msg }) => msg?.includes("of TLS_CERT_FILE expired at 20"));
    expect(warnings()).toMatchObject([{ level: "warn" }]);
    await written(authority.expired(), into);
    await expect.poll(() => warnings().length, { timeout: 20_000 }).toBe(2);
  });
});

withOpenSsl("a certificate that can't be used", () => {
  const reasonsOf = async (env: Record<string, string>) => (await runToExit({ env })).reasons;

  it("keeps the service from starting, with the reason", async () => {
    const files = await written(authority.sign(), join(folder, "unused"));
    expect(await reasonsOf({ TLS_CERT_FILE: files.TLS_CERT_FILE })).toEqual([
      "TLS_KEY_FILE: must be set together with TLS_CERT_FILE",
    ]);
    const missing = { ...files, TLS_KEY_FILE: join(folder, "absent.key") };
    expect(await reasonsOf(missing)).toEqual([
      expect.stringMatching(/^TLS_KEY_FILE: .*absent\.key cannot be read: it does not exist$/),
    ]);
    await writeFile(files.TLS_KEY_FILE, authority.sign().key);
    expect(await reasonsOf(files)).toEqual([expect.stringContaining("is not the key of the certificate")]);
    await writeFile(files.TLS_CERT_FILE, "nonsense");
    expect(await reasonsOf({ ...files, PORT: "eighty" })).toEqual([expect.stringMatching(/^PORT: /)]);
    expect(await reasonsOf(files)).toEqual([expect.stringContaining("has no certificate in PEM")]);
  });

  it("or a public address without TLS, is refused", () => {
    expect(() =>
      readConfig({ TLS_CERT_FILE: "c", TLS_KEY_FILE: "k", OSTIARY_PUBLIC_URL: "http://api.example.com" }),
    ).toThrow("OSTIARY_PUBLIC_URL: must begin with https://");
  });
});

withOpenSsl("Redis over TLS", () => {
  it("must have a certificate of REDIS_CA_FILE, for its own name", async () => {
    await using redis = await startRedis();
    const target = { host: "127.0.0.1", port: redis.port };
    await using secure = await startTlsTerminator(target, authority.sign());
    await using other = await startTlsTerminator(target, authority.sign("DNS:other.example"));
    using stranger = new Authority();
    const env = (port: number, ca: string) => ({
      REDIS_URL: `rediss://127.0.0.1:${port}`,
      REDIS_CA_FILE: ca,
    });
    await using service = await startService({ env: env(secure.port, authority.file) });
    const { key } = await signUpWithKey(service.baseUrl);
    expect(await statusOf(service.baseUrl, key)).toBe(200);
    expect(await redis.command("dbsize")).not.toBe("0");

    for (const refused of [env(secure.port, stranger.file), env(other.port, authority.file)]) {
      const { reasons } = await runToExit({ env: refused });
      expect(reasons).toEqual([
        expect.stringMatching(/^Cannot use the Redis of REDIS_URL .*(certificate|altnames)/),
      ]);
    }
  });

  it("needs a URL of rediss:", () => {
    expect(() => readConfig({ REDIS_URL: "redis://127.0.0.1", REDIS_CA_FILE: authority.file })).toThrow(
      "REDIS_CA_FILE: must be set together with a REDIS_URL that begins with rediss://",
    );
    expect(() => readConfig({ DATABASE_CA_FILE: authority.file })).toThrow("DATABASE_CA_FILE: must be set");
  });
});

describe.skipIf(!hasOpenSsl || DATABASE_SERVER === undefined)("PostgreSQL over TLS", () => {
  it("must have a certificate of DATABASE_CA_FILE, for its own name", async () => {
    // A database of its own, of a service that reaches it directly.
    await using direct = await startService();
    const { key } = await signUpWithKey(direct.baseUrl);
    await direct.stop();
    const url = new URL(direct.databaseUrl ?? "");
    const target = { host: url.hostname, port: Number(url.port || 5432) };
    await using secure = await startTlsTerminator(target, authority.sign());
    await using other = await startTlsTerminator(target, authority.sign("DNS:localhost"));
    using stranger = new Authority();
    const at = (port: number) => {
      const through = new URL(url);
      through.host = `127.0.0.1:${port}`;
      return through.href;
    };
    for (const [port, ca] of [
      [secure.port, stranger.file],
      [other.port, authority.file],
    ] as const) {
      const refused = await runToExit({ databaseUrl: at(port), env: { DATABASE_CA_FILE: ca } });
      expect(refused.reasons).toEqual([expect.stringMatching(/^Cannot use the database of DATABASE_URL/)]);
    }
    await using service = await startService({
      databaseUrl: at(secure.port),
      dataDir: direct.dataDir,
      env: { DATABASE_CA_FILE: authority.file, OSTIARY_LOG: "silent" },
    });
    const headers = { authorization: `Bearer ${key}` };
    const balance = async () => (await fetch(`${service.baseUrl}/v1/credits`, { headers })).status;
    expect(await balance()).toBe(200);
    // PostgreSQL has not been restarted with the right certificate.
    secure.show(stranger.sign());
    expect(await balance()).toBe(503);
    secure.show(authority.sign());
    await expect.poll(balance).toBe(200);
  });
});

describe.skipIf(RUNTIME === "deno")("secrets in files", () => {
  it("are read without the newline at their end, and without a byte order mark", async () => {
    const at = await mkdtemp(join(tmpdir(), "ostiary-secrets-"));
    const password = " a password with blanks ";
    await writeFile(join(at, "password"), `\ufeff${password}\r\n`);
    await using service = await startService({
      env: {
        OSTIARY_OPERATOR_EMAIL: "operator@example.com",
        OSTIARY_OPERATOR_PASSWORD_FILE: join(at, "password"),
      },
    });
    await visit(service.baseUrl).trpc.auth.signIn.mutate({ email: "operator@example.com", password });
    expect(service.stderr()).not.toContain("OSTIARY_OPERATOR_PASSWORD_FILE");
    await rm(at, { recursive: true, force: true });
  });

  it("are refused beside the secret itself, and when they can't be read, all at once", async () => {
    const at = await mkdtemp(join(tmpdir(), "ostiary-secrets-"));
    await writeFile(join(at, "empty"), "\n");
    const { reasons } = await runToExit({
      env: {
        DATABASE_URL: "postgres://root:hunter2@127.0.0.1/x",
        DATABASE_URL_FILE: join(at, "empty"),
        REDIS_URL: undefined,
        REDIS_URL_FILE: join(at, "absent"),
        OSTIARY_RESPONSES_KEY_FILE: join(at, "empty"),
        PORT: "eighty",
      },
    });
    expect(reasons).toEqual([
      "DATABASE_URL_FILE: is set together with DATABASE_URL. Set one of them",
      `REDIS_URL_FILE: the file ${join(at, "absent")} cannot be read: it does not exist`,
      `OSTIARY_RESPONSES_KEY_FILE: the file ${join(at, "empty")} is empty`,
      expect.stringMatching(/^PORT: /),
    ]);
    await rm(at, { recursive: true, force: true });
  });
});
