import { describe, expect, it, vi } from "vitest";
import { COVERED_FIELDS } from "../../sdk/src/contract/audit-entry.ts";
import { CSV_FIELDS } from "../../server/src/audit/entry-sql.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import { publicEntryOf } from "../../server/src/audit/public-entry.ts";
import { decodeEntry, encodeEntry } from "../../server/src/contract/entry-values.ts";
import { openApiDocument } from "../../server/src/operations/openapi-document.ts";
import { openAuditDatabase } from "../fixtures/audit-database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

// The line that whoever adds a field writes.
vi.mock(import("../../sdk/src/contract/audit-fields.ts"), async (importOriginal) => {
  const { AUDIT_FIELDS } = await importOriginal();
  const added = { served_region: { kind: "text", nullable: true } };
  return { AUDIT_FIELDS: { ...AUDIT_FIELDS, ...added } };
});
const MIGRATION = "alter table audit_entries add column served_region text";

const before = auditEntry();
const entry = { ...auditEntry({ accountId: before.accountId, key: before.key }), servedRegion: "eu, west" };

describe("a field that is added by one line and a migration", () => {
  it("is in a journal's line, after all that there was, and absent from older lines", () => {
    const line = encodeEntry(entry);
    expect(JSON.parse(line)).toHaveLength(29);
    expect(line.endsWith(',"eu, west"]')).toBe(true);
    expect(decodeEntry(line)).toStrictEqual(entry);
    const older = JSON.stringify(JSON.parse(line).slice(0, 28));
    expect(decodeEntry(older)).toStrictEqual({ ...entry, servedRegion: null });
  });

  it("is inserted, selected and exported", async () => {
    await using database = await openAuditDatabase(entry);
    const { accountId } = entry;
    await database.sql.unsafe(MIGRATION);
    await database.audit.insertEntries([entry]);
    const asOf = await database.reader.asOf(accountId);
    const { entries } = await database.reader.listEntries(
      { scope: accountId, filter: filterOf({}), asOf },
      null,
      10,
    );
    expect(entries).toMatchObject([entry]);
    const [line = ""] = (await database.exportOf(accountId, "csv")).split("\n");
    expect(line).toMatch(/,"eu, west",[^,]+$/);
    const exported = JSON.parse(await database.exportOf(accountId, "ndjson"));
    expect(exported.served_region).toBe("eu, west");
  });

  it("is in CSV's head, in pages and in the OpenAPI document", () => {
    expect(CSV_FIELDS.slice(-2)).toEqual(["served_region", "cursor"]);
    expect(publicEntryOf({ ...entry, keyName: "k" })).toMatchObject({ served_region: "eu, west" });
    expect(openApiDocument([], { name: "", version: "", url: "" })).toMatchObject({
      components: {
        schemas: { AuditEntry: { properties: { served_region: { type: ["string", "null"] } } } },
      },
    });
  });

  it("leaves the digests of what was recorded as they are", () => {
    expect(COVERED_FIELDS.at(-1)).toBe("would_refuse");
    expect(COVERED_FIELDS).toHaveLength(18);
  });
});
