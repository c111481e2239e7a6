import ipaddr from "ipaddr.js";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { IpRuleBook } from "../../server/src/accounts/ip-rules.ts";
import { parseNetworks } from "../../server/src/networks/networks.ts";
import { signInOperator, signUpEnterprise, startOperatedService } from "../fixtures/operator.ts";
import { outcomeOf } from "../fixtures/request.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import type { Visitor } from "../fixtures/user.ts";

/** Behind a proxy that is trusted, so that requests can come from anywhere. */
const service = sharedByFile(() =>
  startOperatedService({ env: { TRUSTED_PROXIES: "127.0.0.1, 10.255.0.0/16" } }),
);
let operator: Visitor;
let accountId: string;
let key: string;

beforeAll(async () => {
  operator = await signInOperator(service.baseUrl);
  const owner = await signUpEnterprise(service.baseUrl, operator);
  accountId = owner.accountId;
  key = (await owner.trpc.keys.create.mutate({ name: "ruled" })).key;
});

async function setRules(...networks: string[]): Promise<void> {
  await operator.trpc.operator.accounts.setIpRules.mutate({ id: accountId, rules: { networks } });
}

/** Whether a request passes that a chain of proxies says comes from there. */
async function passes(forwardedFor: string): Promise<boolean> {
  const outcome = await outcomeOf(service.baseUrl, key, { "x-forwarded-for": forwardedFor });
  if (outcome.status === 200) return true;
  expect(outcome).toEqual({ status: 403, code: "ip_blocked" });
  return false;
}

/** Rules, an address, and whether it is inside. */
const CASES: readonly [rules: string, address: string, inside: boolean][] = [
  ["192.0.2.7", "192.0.2.7", true],
  ["192.0.2.7", "192.0.2.8", false],
  ["192.0.2.7/32", "192.0.2.7", true],
  ["192.0.2.7/32", "192.0.2.6", false],
  ["192.0.2.0/31", "192.0.2.1", true],
  ["192.0.2.0/31", "192.0.2.2", false],
  ["192.0.2.0/24", "192.0.2.0", true],
  ["192.0.2.0/24", "192.0.2.255", true],
  ["192.0.2.0/24", "192.0.3.0", false],
  ["192.0.2.0/24", "192.0.1.255", false],
  ["192.0.2.77/24", "192.0.2.1", true],
  ["128.0.0.0/1", "127.255.255.255", false],
  ["128.0.0.0/1", "128.0.0.0", true],
  ["0.0.0.0/0", "203.0.113.5", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["::/0", "2001:db8::1", true],
  ["::/0", "203.0.113.5", false],
  ["::/0", "::ffff:203.0.113.5", false],
  ["2001:db8::/32", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true],
  ["2001:db8::/32", "2001:db9::", false],
  ["2001:DB8::1", "2001:0db8:0:0:0:0:0:1", true],
  ["2001:db8::1/128", "2001:db8::2", false],
  ["2001:db8::/127", "2001:db8::1", true],
  ["192.0.2.0/24", "::ffff:192.0.2.9", true],
  ["192.0.2.0/24", "::ffff:c000:209", true],
  ["::ffff:192.0.2.0/120", "192.0.2.9", true],
  ["::ffff:192.0.2.0/120", "192.0.3.9", false],
  ["::ffff:192.0.2.9", "192.0.2.9", true],
  ["::ffff:0.0.0.0/96", "203.0.113.5", true],
  // A translated address is one of its own (RFC 6052), not the IPv4 address inside it.
  ["192.0.2.0/24", "64:ff9b::192.0.2.9", false],
  ["198.51.100.1, 2001:db8::/64, 192.0.2.0/28", "192.0.2.15", true],
  ["198.51.100.1, 2001:db8::/64, 192.0.2.0/28", "192.0.2.16", false],
  ["198.51.100.1, 2001:db8::/64, 192.0.2.0/28", "2001:db8::abcd", true],
];

describe("IP rules", () => {
  it.each(CASES)("of %s treat a request from %s as inside: %s", async (rules, address, inside) => {
    const networks = rules.split(", ");
    const { tryIpRules } = operator.trpc.operator.accounts;
    const proposed = await tryIpRules.query({ id: accountId, address, rules: { networks } });
    expect(proposed.verdict).toBe(inside ? "passes" : "blocked");
    await setRules(...networks);
    expect((await tryIpRules.query({ id: accountId, address })).verdict).toBe(proposed.verdict);
    expect(await passes(address)).toBe(inside);
  });

  it("keep their mode when networks change, and are enforced again once all were removed", async () => {
    const outside = "203.0.113.5";
    const { setIpRules } = operator.trpc.operator.accounts;
    await setIpRules.mutate({ id: accountId, rules: { mode: "report", networks: ["192.0.2.1"] } });
    await setRules("192.0.2.2");
    expect(await passes(outside)).toBe(true);
    await setRules();
    await setRules("192.0.2.2");
    expect(await passes(outside)).toBe(false);
  });

  it("refuse requests of unknown origin, and accept them where there are no rules", async () => {
    await setRules("0.0.0.0/0", "::/0");
    for (const hop of [
      "unknown",
      "_hidden",
      "203.0.113",
      "0x7f.0.0.1",
      "010.0.0.1",
      "300.1.1.1",
      "203.0.113.5 or so",
    ]) {
      expect(await passes(hop), hop).toBe(false);
    }
    await setRules();
    expect(await passes("unknown")).toBe(true);
  });
});

describe("a block wider than the IPv4-mapped addresses", () => {
  it.each(["::ffff:192.0.2.0/95", "::ffff:0.0.0.0/0"])(
    "is no rule, as it would match every address: %s",
    (network) => {
      const { networks, problems } = parseNetworks([network]);
      expect(problems).toHaveLength(1);
      expect(networks.contains("203.0.113.5")).toBe(false);
    },
  );
});

describe("equal IP rules", () => {
  it("are parsed once, however often their account is read", () => {
    const book = new IpRuleBook();
    const judge = (first: number, address: string) => {
      const networks = Array.from(
        { length: 1_000 },
        (_, index) => `2001:db8:${(first + index).toString(16)}::/48`,
      );
      return book.judge({ plan: "enterprise", ipRules: { mode: "enforce", networks } }, address);
    };
    const parse = vi.spyOn(ipaddr, "process");
    try {
      expect(judge(0, "2001:db8:0:1::1")).toBe("passes");
      expect(parse.mock.calls.length).toBeGreaterThan(1_000);
      parse.mockClear();
      for (let call = 0; call < 20; call++) expect(judge(0, "2001:db8:0:1::1")).toBe("passes");
      expect(parse).toHaveBeenCalledTimes(20);
      expect(judge(1, "2001:db8:0:1::1")).toBe("blocked");
    } finally {
      parse.mockRestore();
    }
  });
});

describe("IP rules whose texts are the same one after the other", () => {
  it("are told apart", () => {
    const book = new IpRuleBook();
    const judge = (...networks: readonly string[]) =>
      book.judge({ plan: "enterprise", ipRules: { mode: "enforce", networks } }, "100.1.1.1");
    expect(judge("0.0.0.0/1", "28.0.0.1")).toBe("passes");
    expect(judge("0.0.0.0/12", "8.0.0.1")).toBe("blocked");
  });
});

describe("X-Forwarded-For", () => {
  it.each([
    ["203.0.113.5", true],
    ["198.51.100.1, 203.0.113.5", true],
    // What a client writes itself stands to the left of what the proxy adds.
    ["203.0.113.5, 198.51.100.1", false],
    ["203.0.113.5, 203.0.113.5, 198.51.100.1", false],
    ["198.51.100.1, 203.0.113.5, 10.255.0.9", true],
    ["203.0.113.5, 198.51.100.1, 10.255.0.9", false],
    ["203.0.113.5, unknown", false],
    ["203.0.113.5,", false],
    ["203.0.113.5:8080", true],
    ["10.255.0.9", false],
    ["", false],
  ])("of %j satisfies rules for 203.0.113.5: %s", async (forwardedFor, inside) => {
    await setRules("203.0.113.5");
    expect(await passes(forwardedFor)).toBe(inside);
  });

  it("in several headers is read as one list", async () => {
    await setRules("203.0.113.5");
    const send = async (...values: string[]) => {
      const headers = new Headers({ authorization: `Bearer ${key}` });
      for (const value of values) headers.append("x-forwarded-for", value);
      const response = await fetch(`${service.baseUrl}/v1/models`, { headers });
      await response.arrayBuffer();
      return response.status;
    };
    expect(await send("198.51.100.1", "203.0.113.5")).toBe(200);
    expect(await send("203.0.113.5", "198.51.100.1")).toBe(403);
  });

  it("and similar headers are ignored from a peer that is not a trusted proxy", async () => {
    await using open = await startOperatedService();
    const admin = await signInOperator(open.baseUrl);
    const owner = await signUpEnterprise(open.baseUrl, admin);
    const own = await owner.trpc.keys.create.mutate({ name: "spoofed" });
    await admin.trpc.operator.accounts.setIpRules.mutate({
      id: owner.accountId,
      rules: { networks: ["203.0.113.5"] },
    });
    const claims: Record<string, string>[] = [
      { "x-forwarded-for": "203.0.113.5" },
      { forwarded: "for=203.0.113.5" },
      { "x-real-ip": "203.0.113.5" },
      { "x-client-ip": "203.0.113.5" },
      { "true-client-ip": "203.0.113.5" },
      { "cf-connecting-ip": "203.0.113.5" },
      { "x-forwarded-host": "203.0.113.5", via: "203.0.113.5" },
    ];
    for (const headers of claims) {
      expect((await outcomeOf(open.baseUrl, own.key, headers)).status, JSON.stringify(headers)).toBe(403);
    }
  });
});
