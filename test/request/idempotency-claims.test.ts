import { afterEach, expect, it, vi } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { ClaimId, IdempotencyRecord, KeptAnswer } from "../../server/src/contract/kept-answer.ts";
import { ANSWER_TIMEOUT_MS } from "../../server/src/errors/deadline.ts";
import {
  CLAIM_LEASE_MS,
  type ClaimOutcome,
  Idempotency,
  idempotentRequest,
  KEPT_MS,
  MAX_ANSWER_CHARACTERS,
  type Replaceable,
} from "../../server/src/idempotency/idempotency.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../server/src/secrets/sealer.ts";

/** More failed requests than one statement releases claims of. */
const FAILED_REQUESTS = 2_500;

/** A database that can refuse or not answer what it is asked, and notes it. */
class FakeDatabase {
  claims: "lose" | "lose answer" | "work" = "work";
  renewals: "fail" | "work" = "work";
  releases: "fail" | "hang" | "work" = "work";
  readonly claimed = new Set<ClaimId>();
  /** What is known of all requests; `null`: nothing. */
  outcome: ClaimOutcome | null = null;
  /** What the last claim may replace. */
  replaceable: Replaceable | null = null;
  /** How far its clock is ahead of the node's. */
  aheadMs = 0;
  nowMs = () => this.aheadMs;
  /** Claims that have not reached the database. */
  readonly underWay: ClaimId[] = [];
  readonly renewed: (readonly ClaimId[])[] = [];
  readonly released: number[] = [];

  async claim(_: unknown, claim: ClaimId, replaceable: Replaceable): Promise<ClaimOutcome> {
    this.replaceable = replaceable;
    if (this.outcome !== null) return this.outcome;
    if (this.claims === "lose") {
      this.underWay.push(claim);
      throw new Error("the database does not answer");
    }
    this.claimed.add(claim);
    if (this.claims === "lose answer") throw new Error("the database does not answer");
    return { kind: "claimed" } as const;
  }

  async release(claims: readonly ClaimId[]) {
    if (this.releases === "fail") throw new Error("the database is gone");
    if (this.releases === "hang") await new Promise(() => {});
    this.released.push(claims.length);
    for (const claim of claims) this.claimed.delete(claim);
  }

  async now() {
    return new Date(this.nowMs());
  }

  async renew(claims: readonly ClaimId[]) {
    if (this.renewals === "fail") throw new Error("the database is gone");
    this.renewed.push(claims);
  }
}

afterEach(() => {
  vi.useRealTimers();
});

/** Idempotency over a database, by a clock that a test sets. */
function idempotencyOver(database: FakeDatabase) {
  const clock = { ms: 0 };
  database.nowMs = () => clock.ms + database.aheadMs;
  const sealer = new Sealer([new Uint8Array(SEAL_KEY_BYTES)]);
  return {
    clock,
    idempotency: new Idempotency(database, sealer, { monotonicMs: () => clock.ms, wallMs: () => clock.ms }),
  };
}

async function claimOne(idempotency: Idempotency) {
  const accountId = crypto.randomUUID() as AccountId;
  const request = idempotentRequest(accountId, "POST /v1/embeddings", "once", new Uint8Array());
  const result = await idempotency.claim(request);
  if (result.kind !== "claimed") throw new Error("the request was not known before");
  return result.claim;
}

/** Idempotency with a running request, after an outage in which the claims of many failed requests could not be released. */
async function afterOutage() {
  const database = new FakeDatabase();
  const { idempotency, clock } = idempotencyOver(database);
  const running = await claimOne(idempotency);
  database.releases = "fail";
  for (let number = 0; number < FAILED_REQUESTS; number++) await (await claimOne(idempotency)).release();
  return { database, idempotency, running, clock };
}

it("the claims of running requests are renewed however long lost releases take", async () => {
  const { database, idempotency, running, clock } = await afterOutage();
  database.releases = "hang";
  void idempotency.retryReleases();
  for (let number = 0; number < 3; number++) {
    await idempotency.renew();
    clock.ms += CLAIM_LEASE_MS / 2;
  }
  expect(database.renewed).toEqual([[running.id], [running.id], [running.id]]);
});

it("claims are renewed several times in their lease, and at once after a failure", async () => {
  const database = new FakeDatabase();
  const { idempotency, clock } = idempotencyOver(database);
  await claimOne(idempotency);
  const afterSeconds = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.ms += 1_000;
      await idempotency.renew().catch(() => {});
    }
    return database.renewed.length;
  };
  const perLease = await afterSeconds(CLAIM_LEASE_MS / 1_000);
  expect(perLease).toBe(4);
  database.renewals = "fail";
  // The next renewal would not be due at the end of this time, had the failed ones counted.
  expect(await afterSeconds(125)).toBe(perLease);
  database.renewals = "work";
  expect(await afterSeconds(1)).toBe(perLease + 1);
});

it("leases follow a jump of the database's clock after a lease, and answers are kept while the node's clock does not show their age", async () => {
  const database = new FakeDatabase();
  const { idempotency, clock } = idempotencyOver(database);
  const claimAfterSeconds = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      clock.ms += 5_000;
      await idempotency.watchClock();
    }
    await claimOne(idempotency);
    return database.replaceable;
  };
  const replaceableBy = (leaseClockMs: number) => ({
    renewedBefore: new Date(leaseClockMs - CLAIM_LEASE_MS),
    createdBefore: new Date(clock.ms - KEPT_MS),
  });
  expect(await claimAfterSeconds(100)).toEqual(replaceableBy(clock.ms));
  database.aheadMs = 2 * KEPT_MS;
  expect(await claimAfterSeconds(CLAIM_LEASE_MS / 1_000 - 5)).toEqual(replaceableBy(clock.ms));
  expect(await claimAfterSeconds(10)).toEqual(replaceableBy(clock.ms + database.aheadMs));
  database.aheadMs = 0;
  expect(await claimAfterSeconds(5)).toEqual(replaceableBy(clock.ms));
  // Nor is an answer forgotten before its day is over by the database's clock, whatever the node's shows.
  database.aheadMs = -KEPT_MS;
  const behindMs = () => clock.ms + database.aheadMs;
  expect(await claimAfterSeconds(5)).toEqual({
    renewedBefore: new Date(behindMs() - CLAIM_LEASE_MS),
    createdBefore: new Date(behindMs() - KEPT_MS),
  });
});

it("leases go by the clock of a node that has just started until one has passed", async () => {
  const database = new FakeDatabase();
  database.aheadMs = 2 * KEPT_MS;
  const { idempotency, clock } = idempotencyOver(database);
  const leaseClockMs = async () => {
    await claimOne(idempotency);
    return (database.replaceable?.renewedBefore.getTime() ?? 0) + CLAIM_LEASE_MS;
  };
  expect(await leaseClockMs()).toBe(clock.ms);
  for (let seconds = 5; seconds <= CLAIM_LEASE_MS / 1_000; seconds += 5) {
    await idempotency.watchClock();
    clock.ms += 5_000;
    expect(await leaseClockMs()).toBe(clock.ms);
  }
  await idempotency.watchClock();
  expect(await leaseClockMs()).toBe(clock.ms + database.aheadMs);
});

it("leases follow a jump of the database's clock no sooner where this node could not read it for most of a lease", async () => {
  const database = new FakeDatabase();
  const { idempotency, clock } = idempotencyOver(database);
  const renewedBeforeAfter = async (ms: number) => {
    clock.ms += ms;
    await idempotency.watchClock();
    await claimOne(idempotency);
    return (database.replaceable?.renewedBefore.getTime() ?? 0) + CLAIM_LEASE_MS;
  };
  for (let reading = 0; reading < 20; reading++) await renewedBeforeAfter(5_000);
  database.aheadMs = 2 * KEPT_MS;
  expect(await renewedBeforeAfter(CLAIM_LEASE_MS - 5_000)).toBe(clock.ms);
  expect(await renewedBeforeAfter(10_000)).toBe(clock.ms);
  expect(await renewedBeforeAfter(CLAIM_LEASE_MS - 11_000)).toBe(clock.ms);
  expect(await renewedBeforeAfter(2_000)).toBe(clock.ms + database.aheadMs);
});

it("a request does not wait for a release that the database does not answer, and the release is repeated", async () => {
  const database = new FakeDatabase();
  const { idempotency, clock } = idempotencyOver(database);
  const claim = await claimOne(idempotency);
  vi.useFakeTimers();
  database.releases = "hang";
  const released = vi.fn();
  void claim.release().then(released);
  // A renewal after the release would keep the claim.
  clock.ms += CLAIM_LEASE_MS;
  await idempotency.renew();
  expect(database.renewed).toEqual([]);
  await vi.advanceTimersByTimeAsync(ANSWER_TIMEOUT_MS);
  expect(released).toHaveBeenCalledOnce();
  database.releases = "work";
  await idempotency.retryReleases();
  expect(database.claimed).toEqual(new Set());
});

it("an answer is returned as it was stored, by an earlier version too, and is gone if no key opens it or it was too long", async () => {
  const database = new FakeDatabase();
  const { idempotency } = idempotencyOver(database);
  const request = idempotentRequest(crypto.randomUUID() as AccountId, "POST /", "once", new Uint8Array());
  const result = await idempotency.claim(request);
  if (result.kind !== "claimed") throw new Error("the request was not known before");
  const kept = { isStream: false, model: "acme/chat", text: "the answer" };
  const { answer } = result.claim.answered(kept);
  if (answer === null) throw new Error("the answer is not stored");
  expect(answer.text).not.toContain(kept.text);
  idempotency.forget([{ idempotency: result.claim.answered(null) }]);
  const claimAgain = (stored: KeptAnswer | null, by = idempotency, asked = request) => {
    database.outcome = { kind: "answered", answer: stored };
    return by.claim(asked);
  };
  expect(await claimAgain(answer)).toEqual({ kind: "answered", answer: kept });
  expect(await claimAgain(kept)).toEqual({ kind: "answered", answer: kept });
  const gone = { code: "idempotent_answer_gone", headers: { "x-should-retry": "false" } };
  const other = new Idempotency(database, new Sealer([new Uint8Array(SEAL_KEY_BYTES).fill(1)]));
  await expect(claimAgain(answer, other)).rejects.toMatchObject(gone);
  await expect(claimAgain(null)).rejects.toMatchObject(gone);
  // Nor can it be passed to another account.
  const stolen = { ...request, accountId: crypto.randomUUID() as AccountId };
  await expect(claimAgain(answer, idempotency, stolen)).rejects.toMatchObject(gone);
  database.outcome = null;
  const tooLong = { ...kept, text: "x".repeat(MAX_ANSWER_CHARACTERS + 1) };
  expect((await claimOne(idempotency)).answered(tooLong).answer).toBeNull();
});

it("requests with the same idempotency key are told apart by their accounts and endpoints, also while they run", async () => {
  const { idempotency } = idempotencyOver(new FakeDatabase());
  const newAccount = () => crypto.randomUUID() as AccountId;
  const [one, other] = [newAccount(), newAccount()];
  for (const [account, endpoint] of [
    [one, "POST /v1/embeddings"],
    [other, "POST /v1/embeddings"],
    [one, "POST /v1/messages"],
  ] as const) {
    const request = idempotentRequest(account, endpoint, "once", new Uint8Array());
    expect(await idempotency.claim(request)).toMatchObject({ kind: "claimed" });
    await expect(idempotency.claim(request)).rejects.toMatchObject({ code: "idempotency_key_in_use" });
  }
});

it("ten thousand lost releases are repeated, and the claims before them end with their leases", async () => {
  const database = new FakeDatabase();
  const { idempotency } = idempotencyOver(database);
  database.releases = "fail";
  for (let number = 0; number < 10_003; number++) await (await claimOne(idempotency)).release();
  database.releases = "work";
  const [...claims] = database.claimed;
  await idempotency.retryReleases();
  expect(database.claimed).toEqual(new Set(claims.slice(0, 3)));
});

it("lost releases are repeated many at a time, and none again that was confirmed", async () => {
  const { database, idempotency, running } = await afterOutage();
  await expect(idempotency.retryReleases()).rejects.toThrow("the database is gone");
  database.releases = "work";
  await idempotency.retryReleases();
  expect(database.released).toEqual([1_000, 1_000, 500]);
  expect(database.claimed).toEqual(new Set([running.id]));
  await idempotency.retryReleases();
  expect(database.released).toHaveLength(3);
});

it("a claim that reaches the database after its release is released again, a limited number of times", async () => {
  const database = new FakeDatabase();
  const { idempotency } = idempotencyOver(database);
  database.claims = "lose";
  await expect(claimOne(idempotency)).rejects.toThrow("the database does not answer");
  await idempotency.retryReleases();
  for (const claim of database.underWay) database.claimed.add(claim);
  await idempotency.retryReleases();
  expect(database.claimed).toEqual(new Set());
  for (let number = 0; number < 100; number++) await idempotency.retryReleases();
  const { length } = database.released;
  await idempotency.retryReleases();
  expect(database.released).toHaveLength(length);
});

it("a claim whose answer was lost is released at once, so that the request can be sent again", async () => {
  const database = new FakeDatabase();
  const { idempotency } = idempotencyOver(database);
  database.claims = "lose answer";
  await expect(claimOne(idempotency)).rejects.toThrow("the database does not answer");
  await expect.poll(() => database.claimed).toEqual(new Set());
});

it("claims that the database did not answer are released by one statement at a time, however many they are", async () => {
  const database = new FakeDatabase();
  const { idempotency } = idempotencyOver(database);
  database.claims = "lose";
  for (let number = 0; number < FAILED_REQUESTS; number++) await claimOne(idempotency).catch(() => {});
  database.released.length = 0;
  await idempotency.retryReleases();
  expect(database.released).toEqual([1_000]);
});

it("the answers that wait for the database take 64 MB at most, and those that follow have room when it has them", async () => {
  const { idempotency } = idempotencyOver(new FakeDatabase());
  const kept = { isStream: false, model: "acme/chat", text: "x".repeat(MAX_ANSWER_CHARACTERS) };
  const answerNext = async () => (await claimOne(idempotency)).answered(kept);
  const records: IdempotencyRecord[] = [];
  // Encrypted, each takes a third more.
  for (let number = 0; number < 50; number++) records.push(await answerNext());
  const length = records.reduce((sum, { answer }) => sum + (answer?.text.length ?? 0), 0);
  expect(length).toBeLessThanOrEqual(64 * 1024 * 1024);
  expect(length).toBeGreaterThan(62 * 1024 * 1024);
  expect((await answerNext()).answer).toBeNull();
  idempotency.forget(records.slice(0, 1).map((idempotency) => ({ idempotency })));
  expect((await answerNext()).answer).not.toBeNull();
  expect((await answerNext()).answer).toBeNull();
});

it("answers that the process before has given are known until the database has them, and count as waiting", async () => {
  const kept = { isStream: false, model: "acme/chat", text: "x".repeat(MAX_ANSWER_CHARACTERS) };
  const before = idempotencyOver(new FakeDatabase()).idempotency;
  const accountId = crypto.randomUUID() as AccountId;
  const requests = Array.from({ length: 48 }, (_, number) =>
    idempotentRequest(accountId, "POST /v1/embeddings", `number ${number}`, new Uint8Array()),
  );
  const entries: { accountId: AccountId; idempotency?: IdempotencyRecord }[] = [{ accountId }];
  for (const request of requests) {
    const result = await before.claim(request);
    if (result.kind !== "claimed") throw new Error("the request was not known before");
    entries.push({ accountId, idempotency: result.claim.answered(kept) });
  }

  const { idempotency } = idempotencyOver(new FakeDatabase());
  idempotency.resume(entries);
  for (const request of requests)
    await expect(idempotency.claim(request)).rejects.toMatchObject({ code: "idempotency_key_in_use" });
  const changed = idempotentRequest(accountId, "POST /v1/embeddings", "number 0", Buffer.from("changed"));
  await expect(idempotency.claim(changed)).rejects.toMatchObject({ code: "idempotency_key_reused" });
  expect((await claimOne(idempotency)).answered(kept).answer).toBeNull();
  idempotency.forget(entries);
  expect((await claimOne(idempotency)).answered(kept).answer).not.toBeNull();
  for (const request of requests) expect(await idempotency.claim(request)).toMatchObject({ kind: "claimed" });
});

it("a request stays known until the last of its claims has ended, if the database has given it to two", async () => {
  const { idempotency } = idempotencyOver(new FakeDatabase());
  const accountId = crypto.randomUUID() as AccountId;
  const claim = () =>
    idempotency.claim(idempotentRequest(accountId, "POST /v1/embeddings", "once", new Uint8Array()));
  const [first, second] = await Promise.all([claim(), claim()]);
  if (first.kind !== "claimed" || second.kind !== "claimed")
    throw new Error("the database has given it to both");
  await first.claim.release();
  await expect(claim()).rejects.toMatchObject({ code: "idempotency_key_in_use" });
  await second.claim.release();
  expect(await claim()).toMatchObject({ kind: "claimed" });
});
