// The cost of authentication: for a known key, for an unknown one, and the memory of many keys.
import { randomBytes } from "node:crypto";
import { Access } from "../../server/src/access/access.ts";
import { IpRuleBook } from "../../server/src/accounts/ip-rules.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { KeySnapshot, KeyUuid } from "../../server/src/contract/key.ts";
import { UNLIMITED } from "../../server/src/contract/limits.ts";
import { KeyMint } from "../../server/src/keys/key-string.ts";
import { digestOf } from "../../server/src/secrets/digest.ts";
import { cpuMicroseconds, report, summary } from "./measure.ts";

const ROUNDS = 7;
const REQUESTS = 100_000;
const KNOWN = 1_000;
const MANY_ACCOUNTS = 1_000_000;

const mint = new KeyMint(randomBytes(32));
const ruled = { mode: "enforce", networks: ["10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"] } as const;

function snapshot(number: number): KeySnapshot {
  return {
    key: { id: `key-${number}` as KeyUuid, keyId: "abcd", state: "active" },
    account: {
      id: `account-${number % 100}` as AccountId,
      state: "active",
      plan: "enterprise",
      ipRules: ruled,
      limits: UNLIMITED,
      version: 1n,
    },
  };
}

const keys = Array.from({ length: KNOWN }, () => mint.mint());
const byDigest = new Map(keys.map((key, number) => [digestOf(key).toString("base64"), snapshot(number)]));
let lookups = 0;
const lookup = {
  findKeyByDigest: async (digest: Uint8Array) => {
    lookups++;
    return byDigest.get(Buffer.from(digest).toString("base64")) ?? null;
  },
  findDigest: async () => null,
};
const access = new Access({
  lookup,
  admissions: new Admissions(new MemoryAdmissionStore()),
  limitsOf: ({ limits }) => limits,
  mint,
  ipRules: new IpRuleBook(),
});

/** Header values are new strings at every request, as they are when they come from a socket. */
const headersOf = (strings: readonly string[]) =>
  Array.from({ length: REQUESTS }, (_, index) => [`Bearer ${strings[index % strings.length]}`]);

async function pass(headers: readonly string[][]): Promise<void> {
  for (const header of headers) await access.authorize(await access.authenticate(header), "10.1.2.3");
}

/** The same, and limits asked and given back. */
async function passLimited(headers: readonly string[][]): Promise<void> {
  for (const header of headers) {
    const { admitted } = await access.authorizeAndAdmit(await access.authenticate(header), "10.1.2.3", 100);
    await admitted?.end(120);
  }
}

async function refuse(headers: readonly string[][]): Promise<void> {
  for (const header of headers) {
    try {
      await access.authenticate(header);
    } catch {
      continue;
    }
    throw new Error("a made-up key was let through");
  }
}

const madeUp = new KeyMint(randomBytes(32));
const floods = {
  "a made-up key, checksum and all": Array.from({ length: 20_000 }, () => madeUp.mint()),
  "a mistyped key": keys.map((key) => `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`),
};

globalThis.gc?.();
const emptyBytes = process.memoryUsage().heapUsed;
const store = new MemoryAdmissionStore();
for (let number = 0; number < MANY_ACCOUNTS; number++) {
  await store.commitRead(
    `01a1fd35-bb41-7665-82bf-${String(number).padStart(12, "0")}` as AccountId,
    1n,
    await store.epoch(),
  );
}
globalThis.gc?.();
const fullBytes = process.memoryUsage().heapUsed;
// Still in use: what is not would have been collected.
await store.ping();
report("memory of a million accounts' versions", "MB", ((fullBytes - emptyBytes) / 1024 / 1024).toFixed(1));

await pass(headersOf(keys));
const warm: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const headers = headersOf(keys);
  warm.push(await cpuMicroseconds(REQUESTS, () => pass(headers)));
}
report("a known key with IP rules, header to permission", "µs", summary(warm, 2));

const limited: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const headers = headersOf(keys);
  limited.push(await cpuMicroseconds(REQUESTS, () => passLimited(headers)));
}
report("  the same with limits in memory, taken and given back", "µs", summary(limited, 2));

for (const [what, strings] of Object.entries(floods)) {
  await refuse(headersOf(strings));
  const before = lookups;
  const costs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const headers = headersOf(strings);
    costs.push(await cpuMicroseconds(REQUESTS, () => refuse(headers)));
  }
  report(what, "µs", summary(costs, 2));
  report("  of it look-ups in the database", "", String(lookups - before));
}
