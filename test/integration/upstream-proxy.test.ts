import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { Authority, hasOpenSsl } from "../fixtures/certificate.ts";
import { startConnectProxy } from "../fixtures/connect-proxy.ts";
import { answerWhole, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { commandOf, logLines, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey, type Visitor } from "../fixtures/user.ts";

/** A host that only the proxy can reach. */
const HOST = "models.example";
const PASSWORD = "a p@ss of the proxy";
const USER = `gateway:${encodeURIComponent(PASSWORD)}`;
const CREDENTIAL = `Basic ${Buffer.from(`gateway:${PASSWORD}`).toString("base64")}`;
const CONNECT_MS = 300;
/** Deno would ask for its newest version through the proxy. */
const NO_UPDATE_CHECK = { DENO_NO_UPDATE_CHECK: "1" };

type ConnectProxy = Awaited<ReturnType<typeof startConnectProxy>>;

let authority: Authority;
let plain: ModelServer;
let secure: Server;
let proxy: ConnectProxy;
let secureProxy: ConnectProxy;

const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  if (!hasOpenSsl) return;
  authority = new Authority();
  plain = await startModelServer((request) => answerWhole(request, "by HTTP"));
  const certificate = authority.sign(`DNS:${HOST}`);
  secure = createServer(certificate, (request, response) => {
    request.resume();
    answerWhole({ response } as Parameters<typeof answerWhole>[0], "by HTTPS");
  });
  await once(secure.listen(0, "127.0.0.1"), "listening");
  const ports = { http: Number(new URL(plain.baseUrl).port), https: portOf(secure) };
  proxy = await startConnectProxy(ports);
  secureProxy = await startConnectProxy(ports, authority.sign("IP:127.0.0.1"));
});

afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await secureProxy?.[Symbol.asyncDispose]();
  await plain?.[Symbol.asyncDispose]();
  secure?.closeAllConnections();
  secure?.close();
  authority?.[Symbol.dispose]();
});

const upstream = (name: string, baseUrl: string, connectMs = 10_000) => ({
  [name]: { dialect: "openai", baseUrl, timeouts: { connectMs } },
});

function catalogOf() {
  const upstreams = {
    ...upstream("secure", `https://${HOST}/v1`),
    ...upstream("plain", `http://${HOST}/v1`),
    ...upstream("late", `https://${HOST}:8443/v1`, CONNECT_MS),
    ...upstream("other", "https://other.example/v1"),
    ...upstream("local", plain.baseUrl),
  };
  const models = Object.keys(upstreams).map((name) => ({
    id: name,
    ownedBy: "test",
    routes: [{ upstream: name, model: "inner" }],
  }));
  return writeCatalog({ upstreams, models });
}

describe.skipIf(!hasOpenSsl).each(["node", "deno"] as const)(
  "an upstream behind a proxy, on %s",
  (runtime) => {
    let service: Service;
    let operator: Visitor;
    let key: string;
    let closeCatalog: () => Promise<unknown>;

    const start = async (env: Readonly<Record<string, string>>) => {
      const catalog = await catalogOf();
      const started = await startOperatedService({
        command: commandOf(runtime),
        env: {
          OSTIARY_CATALOG: catalog.file,
          NODE_EXTRA_CA_CERTS: authority.file,
          DENO_CERT: authority.file,
          ...NO_UPDATE_CHECK,
          OSTIARY_LOG: "info",
          ...env,
        },
      });
      closeCatalog = async () => catalog[Symbol.asyncDispose]();
      return started;
    };

    beforeAll(async () => {
      service = await start({
        HTTPS_PROXY: `http://${USER}@127.0.0.1:${proxy.port}`,
        http_proxy: `${USER}@127.0.0.1:${proxy.port}`,
      });
      operator = await signInOperator(service.baseUrl);
      key = (await signUpWithKey(service.baseUrl)).key;
    });

    afterAll(async () => {
      await service?.[Symbol.asyncDispose]();
      await closeCatalog?.();
    });

    afterEach(() => {
      proxy.behave("works");
      proxy.seen.length = 0;
      plain.received.length = 0;
    });

    const ask = async (model: string) => {
      const answer = await sendChat(service.baseUrl, key, { model });
      const body = (await answer.json()) as {
        choices?: { message: { content: string } }[];
        error?: { code: string };
      };
      return [answer.status, body.choices?.[0]?.message.content ?? body.error?.code];
    };

    /** Why the last request to an upstream has failed, as the operator reads it. */
    const failureOf = async (name: string) => {
      const { upstreams } = await operator.trpc.operator.upstreams.query();
      return upstreams.find((one) => one.name === name)?.lastFailure?.reason;
    };

    const logged = () =>
      logLines(service.stderr())
        .filter(({ msg }) => msg?.includes("through the proxy"))
        .map(({ host, reason }) => [host, reason]);

    it("of HTTPS is reached through a tunnel, which later requests use again", async () => {
      expect(await ask("secure")).toEqual([200, "by HTTPS"]);
      expect(await ask("secure")).toEqual([200, "by HTTPS"]);
      expect(proxy.seen).toEqual([{ method: "CONNECT", target: `${HOST}:443`, auth: CREDENTIAL }]);
    });

    it("of HTTP gets its requests from the proxy, without the credential of the proxy", async () => {
      expect(await ask("plain")).toEqual([200, "by HTTP"]);
      expect(proxy.seen).toEqual([
        { method: "POST", target: `http://${HOST}/v1/chat/completions`, auth: CREDENTIAL },
      ]);
      expect(plain.received.map(({ path, headers }) => [path, headers.host])).toEqual([
        ["/v1/chat/completions", HOST],
      ]);
      expect(plain.received[0]?.headers["proxy-authorization"]).toBeUndefined();
    });

    it("on this machine is reached directly", async () => {
      expect(await ask("local")).toEqual([200, "by HTTP"]);
      expect(proxy.seen).toEqual([]);
    });

    it("cannot be reached if the proxy refuses, closes or does not answer, and the operator reads why", async () => {
      for (const [behaviour, reason] of [
        [
          407,
          "the proxy refused the connection with status 407: check the user and password in the URL of the proxy",
        ],
        [
          403,
          "the proxy refused the connection with status 403: allow the upstream in the proxy, or add its host to NO_PROXY",
        ],
        [502, "the proxy refused the connection with status 502: the log of the proxy has the reason"],
        ["closes", "the proxy could not be reached"],
        ["silent", "the upstream could not be reached through the proxy in time"],
      ] as const) {
        proxy.behave(behaviour);
        expect(await ask("late")).toEqual([502, "upstream_error"]);
        expect(await failureOf("late")).toBe(reason);
        await expect.poll(logged).toContainEqual([`${HOST}:8443`, reason]);
      }
      proxy.behave("works");
    });

    it("of HTTP cannot be reached if the proxy does not accept its credential", async () => {
      proxy.behave(407);
      expect(await ask("plain")).toEqual([502, "upstream_error"]);
      expect(await failureOf("plain")).toContain("status 407");
    });

    it("cannot be reached with the certificate of another host, and the operator reads why", async () => {
      expect(await ask("other")).toEqual([502, "upstream_error"]);
      expect(await failureOf("other")).toContain("is that of another host");
    });

    it("leaves no password of the proxy in the log", async () => {
      await expect.poll(() => service.stderr()).toContain(`http://127.0.0.1:${proxy.port}`);
      for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), CREDENTIAL]) {
        expect(service.stderr()).not.toContain(secret);
      }
    });

    it("is reached by a proxy that speaks TLS", async () => {
      const catalog = await catalogOf();
      await using other = await startService({
        command: commandOf(runtime),
        env: {
          OSTIARY_CATALOG: catalog.file,
          NODE_EXTRA_CA_CERTS: authority.file,
          DENO_CERT: authority.file,
          ...NO_UPDATE_CHECK,
          HTTPS_PROXY: `https://127.0.0.1:${secureProxy.port}`,
          NO_PROXY: "other.example, 10.0.0.0/8",
        },
      });
      const { key: ofOther } = await signUpWithKey(other.baseUrl);
      expect((await sendChat(other.baseUrl, ofOther, { model: "secure" })).status).toBe(200);
      expect(secureProxy.seen.map(({ target }) => target)).toEqual([`${HOST}:443`]);
      secureProxy.seen.length = 0;
      await catalog[Symbol.asyncDispose]();
    });
  },
);
