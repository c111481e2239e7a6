import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { AUDIT_FIELD_LIST } from "../../sdk/src/contract/audit-entry.ts";
import { decodeEntry, encodeEntry } from "../../server/src/audit/entry-values.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type AuditEntry, type EntryId, NO_TOKENS } from "../../server/src/contract/entry.ts";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import type { ClaimId } from "../../server/src/contract/kept-answer.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { publicView } from "../../server/src/management/audit.ts";

/** No two fields alike, so that none can stand in another's place unnoticed. */
const full: AuditEntry = {
  id: uuidv7() as EntryId,
  accountId: uuidv7() as AccountId,
  key: uuidv7() as KeyUuid,
  keyId: "abcd",
  at: new Date("2026-11-22T05:00:00.123Z"),
  endpoint: "POST /v1/chat/completions",
  model: 'acme/"quoted"\n',
  upstream: "main",
  status: 503,
  errorCode: "upstream_error",
  endReason: "refused",
  usageSource: "estimated",
  promptTokens: 1,
  completionTokens: 2,
  cachedTokens: 3,
  costNanoUsd: 12_345_678_901_234_567_890n,
  latencyMs: 4,
  timeToFirstTokenMs: 5,
  sourceIp: "2001:db8::1",
  wouldRefuse: "ip_blocked",
  cacheWriteTokens: 6,
  cacheWrite1hTokens: 7,
  reasoningTokens: 8,
  audioTokens: 9,
  imageTokens: 10,
  idempotency: {
    claim: uuidv7() as ClaimId,
    idempotencyKeyDigest: "a2V5",
    bodyDigest: "Ym9keQ==",
    answer: { isStream: true, model: "acme/kept", text: 'data: {"a":"\n"}\n\n' },
  },
  spender: 9_007_199_254_740_993n as SpenderId,
  implausibleNanoUsd: 77n,
};

const { idempotency, spender: _, implausibleNanoUsd: __, ...uncharged } = full;
const bare: AuditEntry = {
  ...uncharged,
  model: null,
  upstream: null,
  errorCode: null,
  ...NO_TOKENS,
  timeToFirstTokenMs: null,
  sourceIp: null,
  wouldRefuse: null,
};

describe("an entry as users of its account read it", () => {
  it("has the fields of the API, and nothing else that the record may have", () => {
    const names = AUDIT_FIELD_LIST.map(([name]) =>
      name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    );
    const recorded = { ...full, keyName: "prod", prompt: "what only the service may know" };
    expect(Object.keys(publicView(recorded)).sort()).toEqual(names.sort());
  });
});

describe("an entry's line in the journal", () => {
  it("is one line that decodes to the entry", () => {
    const unkept: AuditEntry = {
      ...bare,
      ...(idempotency === undefined ? {} : { idempotency: { ...idempotency, answer: null } }),
    };
    for (const entry of [full, bare, unkept]) {
      const line = encodeEntry(entry);
      expect(line).not.toContain("\n");
      expect(decodeEntry(line)).toEqual(entry);
    }
  });

  it("is not decoded when it is torn", () => {
    const line = encodeEntry(full);
    for (let length = 0; length < line.length; length++) {
      expect(() => decodeEntry(line.slice(0, length)), line.slice(0, length)).toThrow();
    }
  });

  it("decodes from the older format with field names", () => {
    const { wouldRefuse, at, costNanoUsd, ...rest } = bare;
    const oldest = { ...rest, at: at.toISOString(), costNanoUsd: costNanoUsd.toString() };
    expect(decodeEntry(JSON.stringify({ ...oldest, wouldRefuse: "ip_blocked" }))).toEqual({
      ...bare,
      wouldRefuse: "ip_blocked",
    });
    expect(decodeEntry(JSON.stringify(oldest))).toEqual({ ...bare, wouldRefuse });
  });

  it("decodes from the older format without the parts of tokens, which are then unknown", () => {
    const before = JSON.stringify(JSON.parse(encodeEntry(full)).slice(0, 23));
    const { promptTokens, completionTokens, cachedTokens } = full;
    expect(decodeEntry(before)).toEqual({
      ...full,
      ...NO_TOKENS,
      promptTokens,
      completionTokens,
      cachedTokens,
    });
  });

  it("decodes from the older format that has an idempotency claim without a spender", () => {
    const values = JSON.parse(encodeEntry(bare)).slice(0, 20);
    expect(decodeEntry(JSON.stringify([...values, uuidv7()]))).toEqual(bare);
    expect(decodeEntry(JSON.stringify([...values, null]))).toEqual(bare);
  });
});
