import { once } from "node:events";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeCatalog } from "../fixtures/catalog.ts";
import { Authority, type Certificate, hasOpenSsl } from "../fixtures/certificate.ts";
import { answerWhole } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { signUpWithKey, type Visitor } from "../fixtures/user.ts";

const CONNECT_MS = 300;
const CERTIFICATE = "the certificate of the upstream, or of the proxy,";
const UNTRUSTED = `${CERTIFICATE} is not trusted: name the file of its authority's certificate in NODE_EXTRA_CA_CERTS, or in DENO_CERT on Deno`;
/** The upstreams that no connection is made to, and what the operator reads of each. */
const FAULTS = {
  expired: `${CERTIFICATE} has expired: it has to be renewed, unless this machine's clock is wrong`,
  "of-another-host": `${CERTIFICATE} is that of another host: check the host in its URL`,
  "self-signed": UNTRUSTED,
  "without-tls":
    "the upstream, or the proxy, does not speak TLS: check whether its URL has to begin with http:, and its port",
  "of-old-tls": "the upstream, or the proxy, refused the connection's TLS: the log has the reason",
  silent: "the upstream could not be reached in time",
};
const faults = Object.entries(FAULTS);

const authority = hasOpenSsl ? new Authority() : null;
const servers: Server[] = [];
/** By the names of upstreams. */
const ports = new Map<string, number>();
let service: Service;
let operator: Visitor;
let key: string;
let closeCatalog = async () => {};

async function listen(name: string, server: Server): Promise<void> {
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  ports.set(name, (server.address() as AddressInfo).port);
}

const answering = (certificate: Certificate, options: object = {}) =>
  createSecureServer({ ...certificate, ...options }, (request, response) => {
    request.resume();
    answerWhole({ response } as Parameters<typeof answerWhole>[0]);
  });

const urlOf = (name: string) => `https://127.0.0.1:${ports.get(name)}/v1`;
const routeTo = (upstream: string, weight: number) => ({ upstream, model: "inner", weight });

beforeAll(async () => {
  if (authority === null) return;
  using stranger = new Authority();
  const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" };
  await listen("expired", answering(authority.expired("authority")));
  await listen("of-another-host", answering(authority.sign("DNS:other.example")));
  await listen("self-signed", answering(stranger.sign()));
  await listen("of-old-tls", answering(authority.sign(), old));
  await listen("spare", answering(authority.sign()));
  await listen(
    "without-tls",
    createServer(
      (socket) => void socket.on("error", () => {}).once("data", () => socket.end("HTTP/1.1 400 \r\n\r\n")),
    ),
  );
  await listen(
    "silent",
    createServer((socket) => void socket.on("error", () => {}).resume()),
  );
  const names = faults.map(([name]) => name);
  const upstreams = [...names, "spare"].map((name) => [
    name,
    {
      dialect: "openai",
      baseUrl: urlOf(name),
      timeouts: { connectMs: CONNECT_MS },
      breaker: { failures: 2 },
    },
  ]);
  const catalog = await writeCatalog({
    upstreams: Object.fromEntries(upstreams),
    models: [
      ...names.map((name) => ({ id: `alone/${name}`, routes: [routeTo(name, 1)] })),
      ...names.map((name) => ({
        id: `both/${name}`,
        routes: [routeTo(name, 1_000_000), routeTo("spare", 0.000_001)],
      })),
    ],
  });
  closeCatalog = async () => catalog[Symbol.asyncDispose]();
  const trusted = { NODE_EXTRA_CA_CERTS: authority.file, DENO_CERT: authority.file };
  service = await startOperatedService({
    env: { OSTIARY_CATALOG: catalog.file, ...trusted, OSTIARY_LOG: "silent" },
  });
  operator = await signInOperator(service.baseUrl);
  key = (await signUpWithKey(service.baseUrl)).key;
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await closeCatalog();
  for (const server of servers) server.close();
  authority?.[Symbol.dispose]();
});

const ask = async (model: string) => {
  const response = await sendChat(service.baseUrl, key, { model });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code ?? null];
};

describe.skipIf(!hasOpenSsl)("an upstream with which no TLS can be spoken", () => {
  it.each(faults)(
    "fails as one that is not reached, is left alone, and the operator reads why: %s",
    async (name, reason) => {
      expect(await ask(`both/${name}`)).toEqual([200, null]);
      expect(await ask(`alone/${name}`)).toEqual([502, "upstream_error"]);
      const { upstreams } = await operator.trpc.operator.upstreams.query();
      expect(upstreams.find((upstream) => upstream.name === name)).toMatchObject({
        breaker: "open",
        lastFailure: { reason },
      });
      expect(await ask(`alone/${name}`)).toEqual([503, "server_is_overloaded"]);
      expect(await ask(`both/${name}`)).toEqual([200, null]);
    },
  );

  it("is told to an operator who tests it", async () => {
    const { problem } = await operator.trpc.operator.testUpstream.mutate({ name: "self-signed" });
    expect(problem).toContain(UNTRUSTED);
  });
});
