import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { connectionProblem } from "../../sdk/src/cli/problems.ts";
import { APIConnectionError, type Ostiary } from "../../sdk/src/index.ts";
import { Authority, hasOpenSsl } from "../fixtures/certificate.ts";
import { ROOT } from "../fixtures/service.ts";
import { answersInTurn, caught, collect, newClient } from "./fake-service.ts";

const AUTHORITY =
  /a certificate is refused \(.+\)\. To trust an authority of your own, set NODE_EXTRA_CA_CERTS/;

/** A runtime's `fetch`, which fails for this reason. */
const failingWith = (code: string | undefined, message: string) =>
  answersInTurn(() => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });
  });

const calls: Readonly<Record<string, (client: Ostiary) => Promise<unknown>>> = {
  "a list": (client) => client.models.list(),
  "a change with a key of its own": (client) => client.keys.create({ name: "a" }),
  "an export": (client) => collect(client.audit.export()),
  "an export with a proof": (client) => collect(client.audit.export({ proof: true, from: "2026-01-01" })),
  "a subscription": (client) => collect(client.audit.tail()),
};

describe("a connection that Deno does not permit", () => {
  it("is told with the option that permits it, and is not asked for again", async () => {
    for (const [name, call] of Object.entries(calls)) {
      const fetch = answersInTurn(() => {
        throw Object.assign(new Error("Requires net access"), { name: "NotCapable" });
      });
      const client = newClient({ fetch, maxRetries: 5, managementToken: "mt-test" });
      const error = await caught(call(client));
      expect(error, name).toBeInstanceOf(APIConnectionError);
      expect(String(error), name).toMatch(/cannot be reached: Deno lacks --allow-net\.$/);
      expect(fetch, name).toHaveBeenCalledTimes(1);
    }
  });
});

describe("a certificate that is refused", () => {
  it.each([
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", AUTHORITY],
    ["SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain", AUTHORITY],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate", AUTHORITY],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unable to get local issuer certificate", AUTHORITY],
    [undefined, "client error (Connect): invalid peer certificate: UnknownIssuer", AUTHORITY],
    [
      "CERT_HAS_EXPIRED",
      "certificate has expired",
      /a certificate is refused \(certificate has expired\)\.$/,
    ],
    [
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "Hostname/IP does not match",
      /is refused \(Hostname\/IP does not match\)\.$/,
    ],
    [
      "EPROTO",
      "write EPROTO 80:error:0A00010B:SSL routines::wrong version number:r.c:350:\n",
      /not TLS.* http:\/\//,
    ],
    [undefined, "received corrupt message of type InvalidContentType", /not TLS.* http:\/\//],
    [
      "EPROTO",
      "EPROTO: The TLS handshake failed. Does the server speak TLS on this port?",
      /not TLS.* http:\/\//,
    ],
  ] as const)("is told with what to do, and is not asked again: %s, %s", async (code, message, expected) => {
    for (const [name, call] of Object.entries(calls)) {
      const fetch = failingWith(code, message);
      const client = newClient({
        fetch,
        maxRetries: 5,
        managementToken: "mt-test",
        baseURL: "https://service.test",
      });
      const error = await caught(call(client));
      expect(error, name).toBeInstanceOf(APIConnectionError);
      const told = String((error as Error).message);
      expect(told).toMatch(/^The service at https:\/\/service\.test\/v1 cannot be reached: /);
      expect(told).toMatch(expected);
      expect(connectionProblem(error as Error)).toBe(told);
      expect(fetch).toHaveBeenCalledTimes(1);
    }
  });

  it("is asked again by an export that has begun, which can have moved to another network", async () => {
    const line = (id: number) => `{"id":"${id}","cursor":"9~${id}"}\n`;
    const refused = () => {
      throw Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    };
    const fetch = answersInTurn(
      () => new Response(`${line(1)}{"id":`),
      refused,
      () => new Response(line(2)),
    );
    expect(await collect(newClient({ fetch }).audit.export())).toEqual([line(1).trim(), line(2).trim()]);
  });

  it.skipIf(!hasOpenSsl)(
    "ends an export of the command line at once, unless its authority is trusted",
    async () => {
      using authority = new Authority();
      const server = createServer(authority.sign(), (_, response) =>
        response.end('{"id":"1","cursor":"9~1"}\n'),
      );
      let refused = 0;
      server.on("tlsClientError", () => refused++).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const run = async (env: Record<string, string>) => {
        const child = spawn(process.execPath, [`${ROOT}/sdk/dist/cli.js`, "audit", "export"], {
          env: { OSTIARY_API_KEY: "sk-test", OSTIARY_BASE_URL: `https://127.0.0.1:${port}`, ...env },
        });
        const [stdout, stderr, [code]] = await Promise.all([
          text(child.stdout),
          text(child.stderr),
          once(child, "close"),
        ]);
        return { code, stdout, stderr };
      };
      try {
        const untrusted = await run({});
        expect(untrusted).toMatchObject({ code: 1, stdout: "" });
        expect(untrusted.stderr).toMatch(AUTHORITY);
        expect(refused).toBeLessThanOrEqual(1);
        const trusted = await run({ NODE_EXTRA_CA_CERTS: authority.file });
        expect(trusted).toEqual({ code: 0, stdout: '{"id":"1","cursor":"9~1"}\n', stderr: "" });
      } finally {
        server.closeAllConnections();
        server.close();
      }
    },
  );
});
