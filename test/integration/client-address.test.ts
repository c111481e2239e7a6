import { once } from "node:events";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRaw } from "../fixtures/raw-http.ts";
import { RUNTIME, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

let exposed: Service;
let proxied: Service;

beforeAll(async () => {
  [exposed, proxied] = await Promise.all([
    startService(),
    startService({ env: { TRUSTED_PROXIES: "127.0.0.0/8, 10.0.0.0/8, 2001:db8:ffff::/48" } }),
  ]);
});

afterAll(async () => {
  await exposed?.[Symbol.asyncDispose]();
  await proxied?.[Symbol.asyncDispose]();
});

/** The source address logged for a request with this `X-Forwarded-For`. */
async function loggedAddress(service: Service, forwardedFor: string): Promise<string | null | undefined> {
  const owner = await signUpWithKey(service.baseUrl);
  await fetch(`${service.baseUrl}/v1/models`, {
    headers: { authorization: `Bearer ${owner.key}`, "x-forwarded-for": forwardedFor },
  });
  return (await owner.trpc.audit.list.query()).entries[0]?.sourceIp;
}

/** An address of this machine that is valid on one of its interfaces only, with the zone that names the interface; `null`: it has none. */
function linkLocalAddress(): string | null {
  for (const [zone, addresses = []] of Object.entries(networkInterfaces())) {
    const found = addresses.find(({ address }) => address.startsWith("fe80:"));
    if (found !== undefined) return `${found.address}%${zone}`;
  }
  return null;
}

const LINK_LOCAL = linkLocalAddress();

describe("X-Forwarded-For", () => {
  it("is ignored where no proxy is trusted", async () => {
    expect(await loggedAddress(exposed, "203.0.113.9")).toBe("127.0.0.1");
  });

  it.each([
    ["203.0.113.9", "203.0.113.9"],
    ["1.1.1.1, 203.0.113.9", "203.0.113.9"],
    ["1.1.1.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"],
    ["203.0.113.9, 2001:db8:ffff::1", "203.0.113.9"],
    ["::ffff:203.0.113.9", "203.0.113.9"],
    ["203.0.113.9:4711", "203.0.113.9"],
    ["[2001:DB8::9]:4711", "2001:db8::9"],
    ["10.0.0.1, 10.0.0.2", "127.0.0.1"],
    ["203.0.113.9, unknown", null],
    ["203.0.113.9, 0x7f.1", null],
  ])("behind a trusted proxy, %s means %s", async (forwardedFor, address) => {
    expect(await loggedAddress(proxied, forwardedFor)).toBe(address);
  });

  it.skipIf(LINK_LOCAL === null)("counts from a trusted proxy on a link-local address", async () => {
    await using service = await startService({ env: { HOST: "::", TRUSTED_PROXIES: "fe80::/10" } });
    const { port } = new URL(service.baseUrl);
    const baseUrl = `http://127.0.0.1:${port}`;
    const owner = await signUpWithKey(baseUrl);
    const socket = connect(Number(port), LINK_LOCAL ?? "");
    socket.write(
      `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.key}\r\nx-forwarded-for: 203.0.113.9\r\n\r\n`,
    );
    await once(socket, "data");
    socket.destroy();
    expect((await owner.trpc.audit.list.query()).entries[0]?.sourceIp).toBe("203.0.113.9");
  });

  it.skipIf(RUNTIME === "deno")(
    "of the client does not count when that of the proxy is not read",
    async () => {
      const owner = await signUpWithKey(proxied.baseUrl);
      using connection = await openRaw(proxied.baseUrl);
      const [claimed, added] = ["198.51.100.1", "203.0.113.9"].map((hop) => `x-forwarded-for: ${hop}\r\n`);
      connection.send(
        `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.key}\r\n${claimed}${"a:\r\n".repeat(3_000)}${added}\r\n`,
      );
      expect((await connection.answer()).status).toBe(431);
      expect((await owner.trpc.audit.list.query()).entries).toEqual([]);
    },
  );
});
