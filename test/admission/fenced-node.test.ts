import { beforeEach, describe, expect, it } from "vitest";
import { type AccountEpoch, AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { UNLIMITED } from "../../server/src/contract/limits.ts";

const ACCOUNT = crypto.randomUUID() as AccountId;

let store: MemoryAdmissionStore;
let storeLost: () => void;
let admissions: Admissions;
let invalidations: number;

beforeEach(async () => {
  store = new MemoryAdmissionStore();
  storeLost = () => {};
  store.onInvalidated = (listener?: () => void) => {
    storeLost = listener ?? storeLost;
  };
  await store.commitRead(ACCOUNT, 1n, await store.epoch());
  admissions = new Admissions(store);
  invalidations = 0;
  admissions.onInvalidated(() => {
    invalidations++;
  });
});

describe("a fenced node", () => {
  it("answers nothing by what it may have missed, and still publishes changes", async () => {
    admissions.fence("for a test");
    const asked = [
      async () => admissions.admit(ACCOUNT, 1n, UNLIMITED, 1),
      () => admissions.check(ACCOUNT, 1n),
      () => admissions.epoch(ACCOUNT),
      () => admissions.commitRead(ACCOUNT, 1n, "0" as AccountEpoch),
      () => admissions.useOf(ACCOUNT),
      () => admissions.ping(),
    ];
    for (const ask of asked) await expect(ask()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    await admissions.publish(ACCOUNT, 2n);
    admissions.lift();
    expect(await admissions.check(ACCOUNT, 1n)).toBe("stale");
    expect(await admissions.check(ACCOUNT, 2n)).toBe("current");
  });

  it("invalidates earlier answers once, until it is fenced another time", () => {
    admissions.fence("for a test");
    admissions.fence("for another reason");
    expect(invalidations).toBe(1);
    admissions.lift();
    admissions.fence("for a test");
    expect(invalidations).toBe(2);
  });
});

it("earlier answers are invalidated when the store may have lost what others published", () => {
  storeLost();
  expect(invalidations).toBe(1);
});
