import { beforeEach, describe, expect, it } from "vitest";
import { Access } from "../../server/src/access/access.ts";
import { IpRuleBook } from "../../server/src/accounts/ip-rules.ts";
import type { Admissions } from "../../server/src/admission/admissions.ts";
import { NO_IP_RULES, NO_OVERRIDES } from "../../server/src/contract/account.ts";
import type { KeySnapshot, KeyState, KeyUuid } from "../../server/src/contract/key.ts";
import { UNLIMITED } from "../../server/src/contract/limits.ts";
import { KeyMint } from "../../server/src/keys/key-string.ts";
import { ACCOUNT } from "./simulated-database.ts";

// A store that was lost may return with an older state, which agrees with snapshots from before a revocation. What it answers across its loss
// must not be used.

const mint = new KeyMint(new Uint8Array(32));
const authorization = [`Bearer ${mint.mint()}`];
/** The requests that were admitted and not cancelled. */
let admitted: number;
/** In the database. */
let state: KeyState;
let reads: number;
/** Called while the store or the database answers. */
let meanwhile: { check: () => void; admit: () => void; read: () => void };
let access: Access;
let lose: () => void;

function snapshot(): KeySnapshot {
  const account = { id: ACCOUNT, plan: "free", ipRules: NO_IP_RULES, limits: NO_OVERRIDES } as const;
  return {
    key: { id: "key" as KeyUuid, keyId: "abcd", state },
    account: { ...account, state: "active", version: 1n },
  };
}

/** Each is called once, at the next answer. */
function once(happens: () => void): () => void {
  let isOver = false;
  return () => {
    if (!isOver) {
      isOver = true;
      happens();
    }
  };
}

beforeEach(() => {
  admitted = 0;
  reads = 0;
  state = "active";
  meanwhile = { check: () => {}, admit: () => {}, read: () => {} };
  const admissions = {
    onInvalidated: (listener: () => void) => {
      lose = listener;
    },
    check: async () => {
      meanwhile.check();
      return "current" as const;
    },
    admit: async () => {
      admitted++;
      meanwhile.admit();
      const cancel = async () => void admitted--;
      return {
        kind: "admitted",
        request: { rates: { requests: null, tokens: null }, end: () => null, cancel },
      };
    },
    epoch: async () => "epoch",
    commitRead: async () => true,
  } as unknown as Admissions;
  const findKeyByDigest = async () => {
    reads++;
    const found = snapshot();
    meanwhile.read();
    return found;
  };
  access = new Access({
    lookup: { findKeyByDigest, findDigest: async () => null },
    admissions,
    limitsOf: () => UNLIMITED,
    mint,
    ipRules: new IpRuleBook(),
  });
});

/** The key is revoked, and the store is lost, before the present answer arrives. */
const revocation = () =>
  once(() => {
    state = "revoked";
    lose();
  });

describe("a key that was revoked when the store was lost", () => {
  it("is refused though the store answered that its snapshot is current", async () => {
    const caller = await access.authenticate(authorization);
    meanwhile.check = revocation();
    await expect(access.authorize(caller, null)).rejects.toMatchObject({
      failure: { code: "revoked_api_key" },
    });
  });

  it("is refused though the store has admitted its request, which is given back", async () => {
    const caller = await access.authenticate(authorization);
    meanwhile.admit = revocation();
    await expect(access.authorizeAndAdmit(caller, null, 1)).rejects.toMatchObject({
      failure: { code: "revoked_api_key" },
    });
    expect(admitted).toBe(0);
  });

  it("is refused though its snapshot was read before", async () => {
    meanwhile.read = revocation();
    const caller = await access.authenticate(authorization);
    await expect(access.authorize(caller, null)).rejects.toMatchObject({
      failure: { code: "revoked_api_key" },
    });
  });

  it("is read again by the next request, because a snapshot that was read across the loss is not kept", async () => {
    // The first read finds the account.
    await access.authenticate(authorization);
    lose();
    meanwhile.read = revocation();
    const before = reads;
    await access.authenticate(authorization);
    meanwhile.read = () => {};
    const caller = await access.authenticate(authorization);
    expect(reads).toBe(before + 2);
    expect(access.seemsRefused(caller, null)).toBe(true);
  });
});

describe("a request of a key that works", () => {
  it("is admitted once, though the store was lost meanwhile", async () => {
    const caller = await access.authenticate(authorization);
    meanwhile.admit = once(() => lose());
    await access.authorizeAndAdmit(caller, null, 1);
    expect(admitted).toBe(1);
  });
});
