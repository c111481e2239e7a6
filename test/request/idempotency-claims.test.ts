import { expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { ClaimId } from "../../server/src/contract/kept-answer.ts";
import { Idempotency, idempotentRequest } from "../../server/src/idempotency/idempotency.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../server/src/secrets/sealer.ts";

const FAILED = 2_500;

/** A database that can refuse releases or not answer them, and notes what it was asked. */
class FakeDatabase {
  claims: "lose" | "work" = "work";
  releases: "fail" | "hang" | "work" = "work";
  readonly claimed = new Set<ClaimId>();
  /** Claims that have not reached the database. */
  readonly underWay: ClaimId[] = [];
  readonly renewed: (readonly ClaimId[])[] = [];
  readonly released: number[] = [];

  async claim(_: unknown, claim: ClaimId) {
    if (this.claims === "lose") {
      this.underWay.push(claim);
      throw new Error("the database does not answer");
    }
    this.claimed.add(claim);
    return { kind: "claimed" } as const;
  }

  async release(claims: readonly ClaimId[]) {
    if (this.releases === "fail") throw new Error("the database is gone");
    if (this.releases === "hang") await new Promise(() => {});
    this.released.push(claims.length);
    for (const claim of claims) this.claimed.delete(claim);
  }

  async renew(claims: readonly ClaimId[]) {
    this.renewed.push(claims);
  }
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
  const idempotency = new Idempotency(database, new Sealer([new Uint8Array(SEAL_KEY_BYTES)]));
  const running = await claimOne(idempotency);
  database.releases = "fail";
  for (let number = 0; number < FAILED; number++) await (await claimOne(idempotency)).release();
  return { database, idempotency, running };
}

it("the claims of running requests are renewed however long lost releases take", async () => {
  const { database, idempotency, running } = await afterOutage();
  database.releases = "hang";
  void idempotency.retryReleases();
  for (let number = 0; number < 3; number++) await idempotency.renew();
  expect(database.renewed).toEqual([[running.id], [running.id], [running.id]]);
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
  const idempotency = new Idempotency(database, new Sealer([new Uint8Array(SEAL_KEY_BYTES)]));
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

it("claims that the database did not answer are released by one statement at a time, however many they are", async () => {
  const database = new FakeDatabase();
  const idempotency = new Idempotency(database, new Sealer([new Uint8Array(SEAL_KEY_BYTES)]));
  database.claims = "lose";
  for (let number = 0; number < FAILED; number++) await claimOne(idempotency).catch(() => {});
  database.released.length = 0;
  await idempotency.retryReleases();
  expect(database.released).toEqual([1_000]);
});
