import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Ostiary } from "../../sdk/src/client.ts";
import { proxiesOfEnvironment } from "../../sdk/src/core/proxy.ts";
import { runProcess } from "../fixtures/run-process.ts";
import { BUN, DENO } from "../fixtures/runtimes.ts";
import { ROOT } from "../fixtures/service.ts";
import { caught } from "./fake-service.ts";

/** A host that only the proxy can resolve. */
const HOST = "service.example";
const PROGRAM = `
import { Ostiary } from ${JSON.stringify(join(ROOT, "sdk/dist/index.js"))};
const { BASE_URL } = globalThis.process.env;
const { TIMEOUT_MS = "600000" } = globalThis.process.env;
const client = new Ostiary({ apiKey: "sk-test", baseURL: BASE_URL, maxRetries: 0, timeout: Number(TIMEOUT_MS) });
const said = [];
for (let count = 0; count < 2; count++) {
  try {
    said.push((await client.models.list()).data.length);
  } catch (error) {
    said.push(error.name, String(error.cause?.message ?? error.message));
  }
}
console.log(JSON.stringify(said));
globalThis.process.exit(0);
`;

let folder: string;
let closeAll: () => Promise<void>;
let proxy: {
  port: number;
  status: number;
  /** Whether it answers nothing to CONNECT. */
  isSilent: boolean;
  /** The connections that it has not answered. */
  waiting: number;
  readonly seen: { method: string; target: string; auth?: string }[];
};
let ports: { readonly http: number; readonly https: number };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-proxy-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const names = [
    "-subj",
    `/CN=${HOST}`,
    "-addext",
    `subjectAltName=DNS:${HOST}`,
    "-addext",
    "basicConstraints=critical,CA:FALSE",
  ];
  const made = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
  ];
  execFileSync("openssl", [...made, ...names, "-keyout", key, "-out", cert], { stdio: "pipe" });
  writeFileSync(join(folder, "program.mjs"), PROGRAM);

  const answer = (_: IncomingMessage, response: ServerResponse) => {
    response.setHeader("content-type", "application/json").end('{"object":"list","data":[]}');
  };
  const plain = createServer(answer);
  const secure = createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
  const own = createServer((request, response) => {
    seeing(request);
    answer(request, response);
  });
  const seeing = ({ method = "", url = "", headers }: IncomingMessage) => {
    const auth = headers["proxy-authorization"];
    proxy.seen.push({ method, target: url, ...(auth === undefined ? {} : { auth }) });
  };
  own.on("connect", (request, socket) => {
    seeing(request);
    if (proxy.isSilent) {
      proxy.waiting++;
      socket
        .on("error", () => {})
        .on("end", () => socket.end())
        .on("close", () => proxy.waiting--);
      socket.resume();
      return;
    }
    if (proxy.status !== 200) {
      socket.end(`HTTP/1.1 ${proxy.status} No\r\n\r\n`);
      return;
    }
    const through = connect(ports.https, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      through.pipe(socket).pipe(through);
    });
    through.on("error", () => socket.destroy());
    socket.on("error", () => through.destroy());
  });
  const servers = [plain, secure, own];
  for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
  const [http = 0, https = 0, port = 0] = servers.map((server) => (server.address() as AddressInfo).port);
  ports = { http, https };
  proxy = { port, status: 200, isSilent: false, waiting: 0, seen: [] };
  closeAll = async () => {
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  };
});

afterAll(async () => {
  await closeAll?.();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  proxy.status = 200;
  proxy.isSilent = false;
  proxy.seen.length = 0;
});

const RUNTIMES = {
  Node: [process.execPath, []],
  Deno: [DENO, ["run", "--allow-all"]],
  Bun: [BUN, ["run"]],
} as const;

/** What a program with a client says, with these variables. */
async function run(runtime: keyof typeof RUNTIMES, env: Record<string, string>): Promise<unknown> {
  const [command, args] = RUNTIMES[runtime];
  const cert = join(folder, "cert.pem");
  const { code, stdout, stderr } = await runProcess(command, [...args, join(folder, "program.mjs")], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      NODE_EXTRA_CA_CERTS: cert,
      DENO_CERT: cert,
      // Deno would ask for its newest version through the proxy.
      DENO_NO_UPDATE_CHECK: "1",
      NO_COLOR: "1",
      ...env,
    },
  });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const proxyUrl = (user = "") => `http://${user}127.0.0.1:${proxy.port}`;

describe.each(["Node", "Deno", "Bun"] as const)("a proxy that the environment names, on %s", (runtime) => {
  it("is used for HTTPS, by a tunnel", async () => {
    const said = await run(runtime, { BASE_URL: `https://${HOST}`, HTTPS_PROXY: proxyUrl("me:p%40ss@") });
    expect(said).toEqual([0, 0]);
    const auth = `Basic ${btoa("me:p@ss")}`;
    // The connection is kept alive: one tunnel for both requests.
    expect(proxy.seen).toEqual([{ method: "CONNECT", target: `${HOST}:443`, auth }]);
  });

  it("is used for HTTP, by the whole address", async () => {
    expect(await run(runtime, { BASE_URL: `http://${HOST}`, http_proxy: proxyUrl() })).toEqual([0, 0]);
    const request = { method: "GET", target: `http://${HOST}/v1/models` };
    expect(proxy.seen).toEqual([request, request]);
  });

  it("is not used for hosts of NO_PROXY", async () => {
    const env = {
      BASE_URL: `http://${HOST}`,
      HTTP_PROXY: proxyUrl(),
      NO_PROXY: "a.example, service.example",
    };
    expect(await run(runtime, env)).toContain("APIConnectionError");
    expect(proxy.seen).toEqual([]);
  });

  it("is not used for this machine if NO_PROXY has it, as the README shows", async () => {
    const env = {
      BASE_URL: `http://127.0.0.1:${ports.http}`,
      HTTP_PROXY: proxyUrl(),
      NO_PROXY: "127.0.0.1,localhost",
    };
    expect(await run(runtime, env)).toEqual([0, 0]);
    expect(proxy.seen).toEqual([]);
  });
});

describe("a proxy on Node", () => {
  it.each(["*", ".example", "*.example", "service.example:80", "a b,SERVICE.EXAMPLE"])(
    "is not used with NO_PROXY=%s",
    async (NO_PROXY) => {
      const env = { BASE_URL: `http://${HOST}`, HTTP_PROXY: proxyUrl(), NO_PROXY };
      expect(await run("Node", env)).toContain("APIConnectionError");
      expect(proxy.seen).toEqual([]);
    },
  );

  it.each(["other.example", "service.example:8080", "ice.example", "", ","])(
    "is used with NO_PROXY=%j",
    async (NO_PROXY) => {
      const env = { BASE_URL: `http://${HOST}`, HTTP_PROXY: proxyUrl(), NO_PROXY };
      expect(await run("Node", env)).toEqual([0, 0]);
    },
  );

  it.each([
    ["10.1.2.3", "10.0.0.0/8"],
    ["10.1.2.3:8080", "10.1.2.3:8080"],
    ["[fd00::1]", "fd00::1"],
    ["[fd00::1]", "[fd00:0::1]:80"],
    ["[fd00::1]", "example.com, fd00::/8"],
  ])("is not used for the address %s with NO_PROXY=%s", (host, NO_PROXY) => {
    vi.stubEnv("HTTP_PROXY", proxyUrl());
    vi.stubEnv("NO_PROXY", NO_PROXY);
    expect(proxiesOfEnvironment()?.(new URL(`http://${host}`))).toBeNull();
    for (const other of ["11.0.0.1", "[fe80::1]", "10.example", "fd00.example"])
      expect(proxiesOfEnvironment()?.(new URL(`http://${other}`))?.host).toBe(`127.0.0.1:${proxy.port}`);
    vi.unstubAllEnvs();
  });

  it("gets a password with a percent sign that begins no escape", async () => {
    const env = { BASE_URL: `http://${HOST}`, HTTP_PROXY: proxyUrl("me:50%off@") };
    expect(await run("Node", env)).toEqual([0, 0]);
    expect(proxy.seen[0]?.auth).toBe(`Basic ${btoa("me:50%off")}`);
  });

  it("is not used for this machine", async () => {
    const env = { BASE_URL: `http://127.0.0.1:${ports.http}`, HTTP_PROXY: proxyUrl() };
    expect(await run("Node", env)).toEqual([0, 0]);
    expect(proxy.seen).toEqual([]);
  });

  it.each([
    ["socks5://127.0.0.1:1080", "a socks5 proxy"],
    ["socks5h://me:secret@127.0.0.1:1080", "a socks5h proxy"],
    ["http://me:secret@127.0.0.1:port", "no proxy's URL"],
  ])("of a kind that is not supported is an error: %s", async (HTTPS_PROXY, what) => {
    const direct = { BASE_URL: `https://${HOST}`, HTTPS_PROXY };
    const error = ["OstiaryError", expect.stringContaining(`HTTPS_PROXY is ${what}`)];
    const said = await run("Node", direct);
    expect(said).toEqual([...error, ...error]);
    expect(JSON.stringify(said)).not.toContain("secret");
    // What needs no proxy is reached.
    const own = `http://127.0.0.1:${ports.http}`;
    expect(await run("Node", { ...direct, BASE_URL: own, http_proxy: HTTPS_PROXY })).toEqual([0, 0]);
  });

  it("that opens no connection does not hold a request beyond its timeout", async () => {
    proxy.isSilent = true;
    const env = { BASE_URL: `https://${HOST}`, HTTPS_PROXY: proxyUrl(), TIMEOUT_MS: "200" };
    const late = ["APIConnectionTimeoutError", "the request was aborted"];
    expect(await run("Node", env)).toEqual([...late, ...late]);
  });

  it.each(["abort", "timeout"])("that opens no connection is left with the request: %s", async (end) => {
    proxy.isSilent = true;
    vi.stubEnv("HTTPS_PROXY", proxyUrl());
    const client = new Ostiary({ apiKey: "sk-test", baseURL: `https://${HOST}`, maxRetries: 0 });
    vi.unstubAllEnvs();
    const leaving = new AbortController();
    const options = end === "abort" ? { signal: leaving.signal } : { timeout: 200 };
    const failed = caught(client.models.list(options));
    await expect.poll(() => proxy.waiting).toBe(1);
    leaving.abort();
    const name = end === "abort" ? "APIUserAbortError" : "APIConnectionTimeoutError";
    expect(await failed).toMatchObject({ name });
    await expect.poll(() => proxy.waiting, { timeout: 10_000 }).toBe(0);
  });

  it("that refuses to connect is an APIConnectionError, which does not quote its password", async () => {
    proxy.status = 407;
    const env = { BASE_URL: `https://${HOST}`, HTTPS_PROXY: proxyUrl("me:secret@") };
    const refusal = `The proxy 127.0.0.1:${proxy.port} refused to connect: status 407.`;
    expect(await run("Node", env)).toEqual(["APIConnectionError", refusal, "APIConnectionError", refusal]);
  });
});
