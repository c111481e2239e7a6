import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CredentialLookups } from "../../server/src/accounts/credential-lookups.ts";
import { Failure } from "../../server/src/errors/failure.ts";
import { CallLimits } from "../../server/src/management/call-limits.ts";
import type { RpcCaller } from "../../server/src/management/caller.ts";

const ANYBODY = { kind: "anonymous" } as const;
const CALLS_OF_MINUTE = 600;
const AUTH_CALLS_OF_MINUTE = 300;
const MAX_CONNECTIONS = 10_000;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Calls from an address, and when those that were refused were answered. */
function world() {
  const limits = new CallLimits(() => performance.now(), MAX_CONNECTIONS);
  const answeredMs: number[] = [];
  const call = async (address: string) => {
    const error: unknown = await limits.count(ANYBODY, address, 1).catch((thrown: unknown) => thrown);
    if (error instanceof Failure && error.code === "rate_limit_exceeded") answeredMs.push(performance.now());
    return error;
  };
  return { limits, call, answeredMs };
}

it("refusals of a caller are answered one after another, and each within five seconds", async () => {
  const { limits, call, answeredMs } = world();
  await limits.count(ANYBODY, "192.0.2.1", CALLS_OF_MINUTE);
  const startMs = performance.now();
  const refused = Array.from({ length: 300 }, () => call("192.0.2.1"));
  await vi.advanceTimersByTimeAsync(0);
  expect(answeredMs).toHaveLength(0);
  // Another address does not wait.
  expect(await call("192.0.2.2")).toBeUndefined();
  await vi.advanceTimersByTimeAsync(5_000);
  await Promise.all(refused);
  const afterMs = answeredMs.map((ms) => ms - startMs);
  expect(afterMs).toHaveLength(300);
  expect(afterMs.slice(0, 3)).toEqual([20, 40, 60]);
  expect(afterMs.at(-1)).toBe(5_000);
});

it("refusals that wait keep a sixteenth of all connections at most", async () => {
  const { limits, call, answeredMs } = world();
  await limits.count(ANYBODY, "192.0.2.1", CALLS_OF_MINUTE);
  const refused = Array.from({ length: MAX_CONNECTIONS }, () => call("192.0.2.1"));
  await vi.advanceTimersByTimeAsync(0);
  expect(answeredMs).toHaveLength((MAX_CONNECTIONS * 15) / 16);
  await vi.advanceTimersByTimeAsync(5_000);
  await Promise.all(refused);
  expect(answeredMs).toHaveLength(MAX_CONNECTIONS);
});

it("a refusal does not wait for one that was answered long ago", async () => {
  const { limits, call, answeredMs } = world();
  await limits.count(ANYBODY, "192.0.2.1", CALLS_OF_MINUTE);
  const first = call("192.0.2.1");
  await vi.advanceTimersByTimeAsync(20);
  await first;
  await vi.advanceTimersByTimeAsync(79);
  const second = call("192.0.2.1");
  await vi.advanceTimersByTimeAsync(20);
  await second;
  expect((answeredMs[1] ?? 0) - (answeredMs[0] ?? 0)).toBeLessThanOrEqual(80);
});

it("the keys and management tokens of an account have a limit together, which its users and other accounts do not feel", async () => {
  const { limits } = world();
  const keyOf = (account: string, id: string) => ({
    kind: "key" as const,
    permission: { snapshot: { account: { id: account }, key: { id } } },
  });
  const ofUser = (kind: "session" | "management-token", account: string) => ({
    kind,
    id: kind,
    signedIn: { role: "owner", user: { id: `user of ${account}` }, account: { id: account } },
  });
  const count = (caller: object, calls = CALLS_OF_MINUTE) =>
    limits.count(caller as unknown as RpcCaller, "192.0.2.1", calls);
  for (let key = 0; key < 4; key++) await count(keyOf("busy", `key ${key}`));
  await count(ofUser("management-token", "busy"));
  const refused = count(keyOf("busy", "another key"), 1).catch((thrown: unknown) => thrown);
  await vi.advanceTimersByTimeAsync(20);
  expect(await refused).toMatchObject({
    code: "rate_limit_exceeded",
    retryAfterMs: 20,
    message: expect.stringContaining("all keys and management tokens of the account"),
  });
  expect(limits.refused.get("account")).toBe(1);
  await count(ofUser("session", "busy"));
  await count(keyOf("calm", "key"));
  // What the account's limit refuses does not count for the key.
  await vi.advanceTimersByTimeAsync(60_000);
  await count(keyOf("busy", "another key"));
});

it("a credential that has ended counts as one that does not exist, and one that works does not count", async () => {
  const lookups = new CredentialLookups("sessions", () => performance.now());
  const [ended, valid] = [new Uint8Array([1]), new Uint8Array([2])];
  for (const digest of [ended, valid]) lookups.issued(digest);
  const find = (digest: Uint8Array, found: string | null) =>
    lookups.find(digest, "192.0.2.1", async () => found);
  // The first look-up finds that the session has ended.
  for (let call = 0; call <= CALLS_OF_MINUTE; call++) expect(await find(ended, null)).toBeNull();
  await expect(find(ended, null)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
  expect(await find(valid, "session")).toBe("session");
});

it("a credential that another node has made does not count, however many there are", async () => {
  const lookups = new CredentialLookups("management tokens", () => performance.now());
  for (let number = 0; number < 2 * CALLS_OF_MINUTE; number++) {
    const digest = new Uint8Array([number & 255, number >> 8]);
    expect(await lookups.find(digest, "192.0.2.1", async () => "token")).toBe("token");
  }
});

it("each call of a batch counts against the calls of `auth.*` from an address", async () => {
  const { limits } = world();
  const batch = ["auth.me", ...Array(9).fill("auth.signIn"), "keys.list"];
  const batches = AUTH_CALLS_OF_MINUTE / 10 + 2;
  const counted = Promise.allSettled(
    Array.from({ length: batches }, () => limits.countAuth("192.0.2.1", batch)),
  );
  await vi.advanceTimersByTimeAsync(1_000);
  const refused = (await counted).filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(2);
  expect(limits.refused.get("address")).toBe(20);
});
