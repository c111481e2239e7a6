import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { AUDIT_FIELD_LIST } from "../../sdk/src/contract/audit-entry.ts";
import { type AuditEntry, NO_TOKENS } from "../../server/src/contract/entry.ts";
import { decodeEntry, encodeEntry } from "../../server/src/contract/entry-values.ts";
import { publicView } from "../../server/src/management/procedures/audit.ts";
import { BARE_ENTRY, CHARGED_ENTRY } from "../fixtures/audit-entry.ts";

/** Its values have what a line or a column ends with. */
const full: AuditEntry = {
  ...CHARGED_ENTRY,
  model: 'acme/"quoted"\n',
  idempotency: CHARGED_ENTRY.idempotency && {
    ...CHARGED_ENTRY.idempotency,
    answer: { isStream: true, model: "acme/kept", text: 'data: {"a":"\n"}\n\n' },
  },
};
const { idempotency } = full;
const bare = BARE_ENTRY;

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
