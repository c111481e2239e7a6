import { beforeAll, describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/audit/verify-export.ts";
import { verifyWholeChain } from "../../server/src/audit/audit-chain.ts";
import type { AsOf } from "../../server/src/audit/cursor.ts";
import { CSV_FIELDS } from "../../server/src/audit/entry-sql.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import { encodeEntry } from "../../server/src/contract/entry-values.ts";
import { openApiDocument } from "../../server/src/operations/openapi-document.ts";
import { openAuditDatabase } from "../fixtures/audit-database.ts";
import {
  auditEntry,
  BARE_ENTRY as bare,
  CHARGED_ENTRY as charged,
  FULL_ENTRY as full,
} from "../fixtures/audit-entry.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";

const database = sharedByFile(() => openAuditDatabase(full));

beforeAll(async () => {
  await database.audit.insertEntries([full]);
  await database.audit.insertEntries([bare]);
});

/** Two entries as the service exported them before the parts of the usage were recorded. */
const EXPORTED_WITHOUT_PARTS = [
  String.raw`{"id":"01936ef4-5c7b-7abc-8def-0123456789ab","request_id":"req_01936ef45c7b7abc8def0123456789ab","timestamp":"2024-11-27T18:25:19.483Z","key_id":"a=b9","key_name":"=prod, \"eu\"","endpoint":"POST /v1/chat/completions","model":"acme/\"quoted\", and more","upstream":"main","status":503,"error_code":"upstream_error","end_reason":"refused","usage_source":"estimated","prompt_tokens":1,"completion_tokens":2,"cached_tokens":3,"token_count":3,"cost_nano_usd":0,"latency_ms":4,"time_to_first_token_ms":5,"source_ip":"2001:db8::1","would_refuse":"ip_blocked","chain":{"batch" : 1, "entries" : 1, "digest" : "072895d2b7d55f079da765c47eeb26cae6137e5107e4663ae75684afdf9e4df3"},"cursor":"2~01936ef4-5c7b-7abc-8def-0123456789ab"}`,
  String.raw`{"id":"01936ef4-5c7b-7abc-8def-0123456789ac","request_id":"req_01936ef45c7b7abc8def0123456789ac","timestamp":"2024-11-27T18:25:19.483Z","key_id":"a=b9","key_name":"=prod, \"eu\"","endpoint":"POST /v1/chat/completions","model":null,"upstream":null,"status":503,"error_code":null,"end_reason":"refused","usage_source":"estimated","prompt_tokens":null,"completion_tokens":null,"cached_tokens":null,"token_count":null,"cost_nano_usd":0,"latency_ms":4,"time_to_first_token_ms":null,"source_ip":null,"would_refuse":null,"chain":{"batch" : 2, "entries" : 1, "digest" : "6feeb20aca27123dfe48e5407b70203e44a25926ac19455258339ccf23a91042"},"cursor":"2~01936ef4-5c7b-7abc-8def-0123456789ac"}`,
];

describe("what journals, exports and their readers rely on", () => {
  it("a journal's line is written in the form that earlier versions read", () => {
    expect(encodeEntry(charged)).toMatchInlineSnapshot(
      `"["01936ef4-5c7b-7abc-8def-0123456789ab","01936ef4-0000-7000-8000-00000000000a","01936ef4-0000-7000-8000-00000000000b","a=b9",1732731919483,"POST /v1/chat/completions","acme/\\"quoted\\", and more","main",503,"upstream_error","refused","estimated",1,2,3,"12345678901234567890",4,5,"2001:db8::1","ip_blocked",["01936ef4-0000-7000-8000-00000000000c","a2V5","Ym9keQ==",true,"acme/kept","data: {}\\n\\n"],"9007199254740993","77",6,7,8,9,10]"`,
    );
    expect(encodeEntry(bare)).toMatchInlineSnapshot(
      `"["01936ef4-5c7b-7abc-8def-0123456789ac","01936ef4-0000-7000-8000-00000000000a","01936ef4-0000-7000-8000-00000000000b","a=b9",1732731919483,"POST /v1/chat/completions",null,null,503,null,"refused","estimated",null,null,null,"0",4,null,null,null,null,null,null,null,null,null,null,null]"`,
    );
  });

  it("an export as CSV is written as ever", async () => {
    expect(
      `${CSV_FIELDS.join(",")}\n${await database.exportOf(full.accountId, "csv")}`,
    ).toMatchInlineSnapshot(`
      "id,request_id,timestamp,key_id,key_name,endpoint,model,upstream,status,error_code,end_reason,usage_source,prompt_tokens,completion_tokens,cached_tokens,token_count,cost_nano_usd,latency_ms,time_to_first_token_ms,source_ip,would_refuse,cache_write_tokens,cache_write_1h_tokens,reasoning_tokens,audio_tokens,image_tokens,cursor
      01936ef4-5c7b-7abc-8def-0123456789ab,req_01936ef45c7b7abc8def0123456789ab,2024-11-27T18:25:19.483Z,a=b9,"'=prod, ""eu""",POST /v1/chat/completions,"acme/""quoted"", and more",main,503,upstream_error,refused,estimated,1,2,3,3,0,4,5,2001:db8::1,ip_blocked,6,7,8,9,10,2~01936ef4-5c7b-7abc-8def-0123456789ab
      01936ef4-5c7b-7abc-8def-0123456789ac,req_01936ef45c7b7abc8def0123456789ac,2024-11-27T18:25:19.483Z,a=b9,"'=prod, ""eu""",POST /v1/chat/completions,,,503,,refused,estimated,,,,,0,4,,,,,,,,,2~01936ef4-5c7b-7abc-8def-0123456789ac
      "
    `);
  });

  it("an export as NDJSON, and the digests in it, are written as ever", async () => {
    expect(await database.exportOf(full.accountId, "ndjson")).toMatchInlineSnapshot(`
      "{"id":"01936ef4-5c7b-7abc-8def-0123456789ab","request_id":"req_01936ef45c7b7abc8def0123456789ab","timestamp":"2024-11-27T18:25:19.483Z","key_id":"a=b9","key_name":"=prod, \\"eu\\"","endpoint":"POST /v1/chat/completions","model":"acme/\\"quoted\\", and more","upstream":"main","status":503,"error_code":"upstream_error","end_reason":"refused","usage_source":"estimated","prompt_tokens":1,"completion_tokens":2,"cached_tokens":3,"token_count":3,"cost_nano_usd":0,"latency_ms":4,"time_to_first_token_ms":5,"source_ip":"2001:db8::1","would_refuse":"ip_blocked","cache_write_tokens":6,"cache_write_1h_tokens":7,"reasoning_tokens":8,"audio_tokens":9,"image_tokens":10,"chain":{"batch" : 1, "entries" : 1, "digest" : "80adb60d0c3bd91b3b37f0eeb34f7912db8d064f5fb9117a51d34449d72f8d8f"},"cursor":"2~01936ef4-5c7b-7abc-8def-0123456789ab"}
      {"id":"01936ef4-5c7b-7abc-8def-0123456789ac","request_id":"req_01936ef45c7b7abc8def0123456789ac","timestamp":"2024-11-27T18:25:19.483Z","key_id":"a=b9","key_name":"=prod, \\"eu\\"","endpoint":"POST /v1/chat/completions","model":null,"upstream":null,"status":503,"error_code":null,"end_reason":"refused","usage_source":"estimated","prompt_tokens":null,"completion_tokens":null,"cached_tokens":null,"token_count":null,"cost_nano_usd":0,"latency_ms":4,"time_to_first_token_ms":null,"source_ip":null,"would_refuse":null,"cache_write_tokens":null,"cache_write_1h_tokens":null,"reasoning_tokens":null,"audio_tokens":null,"image_tokens":null,"chain":{"batch" : 2, "entries" : 1, "digest" : "110d4f58e738e062d3fbdf858e9909d8dfc20caa4e98613461d8edc380fbb38a"},"cursor":"2~01936ef4-5c7b-7abc-8def-0123456789ac"}
      "
    `);
  });

  it("the OpenAPI schema of an entry does not change", () => {
    const { components } = openApiDocument([], { name: "", version: "", url: "" }) as {
      components: { schemas: { AuditEntry: object } };
    };
    const form = JSON.stringify(components.schemas.AuditEntry, (name, value) =>
      name === "description" ? undefined : value,
    );
    expect(form).toMatchInlineSnapshot(
      `"{"type":"object","required":["id","request_id","timestamp","key_id","key_name","endpoint","model","upstream","status","error_code","end_reason","usage_source","prompt_tokens","completion_tokens","cached_tokens","token_count","cost_nano_usd","latency_ms","time_to_first_token_ms","source_ip","would_refuse","cache_write_tokens","cache_write_1h_tokens","reasoning_tokens","audio_tokens","image_tokens"],"properties":{"id":{"type":"string"},"request_id":{"type":"string"},"timestamp":{"type":"string","format":"date-time"},"key_id":{"type":"string"},"key_name":{"type":"string"},"endpoint":{"type":"string"},"model":{"type":["string","null"]},"upstream":{"type":["string","null"]},"status":{"type":"integer","minimum":0},"error_code":{"type":["string","null"]},"end_reason":{"enum":["stop","client_gone","upstream_error","timeout","shutdown","refused","node_lost"]},"usage_source":{"enum":["upstream","estimated","none"]},"prompt_tokens":{"type":["integer","null"],"minimum":0},"completion_tokens":{"type":["integer","null"],"minimum":0},"cached_tokens":{"type":["integer","null"],"minimum":0},"token_count":{"type":["integer","null"],"minimum":0},"cost_nano_usd":{"type":"integer","minimum":0},"latency_ms":{"type":"integer","minimum":0},"time_to_first_token_ms":{"type":["integer","null"],"minimum":0},"source_ip":{"type":["string","null"]},"would_refuse":{"type":["string","null"]},"cache_write_tokens":{"type":["integer","null"],"minimum":0},"cache_write_1h_tokens":{"type":["integer","null"],"minimum":0},"reasoning_tokens":{"type":["integer","null"],"minimum":0},"audio_tokens":{"type":["integer","null"],"minimum":0},"image_tokens":{"type":["integer","null"],"minimum":0}}}"`,
    );
  });

  it("an entry is read as it was recorded", async () => {
    const asOf = await database.reader.asOf(full.accountId);
    const { entries } = await database.reader.listEntries(
      { scope: full.accountId, filter: filterOf({}), asOf },
      null,
      10,
    );
    const keyName = '=prod, "eu"';
    expect(entries).toStrictEqual([
      { ...bare, keyName },
      { ...full, keyName },
    ]);
  });

  it("an export of before the usage had parts is verified as ever", async () => {
    const [first = "", second = ""] = EXPORTED_WITHOUT_PARTS;
    expect(await verifyAuditExport([first, second])).toMatchObject({ ok: true, entries: 2, problems: [] });
    const changed = first.replace('"cached_tokens":3', '"cached_tokens":2');
    const { problems } = await verifyAuditExport([changed, second]);
    expect(problems[0]).toMatchObject({ problem: "changed", line: 1 });
  });

  it("an entry is shown and exported although the database lacks its key, as after a restore", async () => {
    const entry = auditEntry();
    const { accountId, id } = entry;
    await database.audit.insertEntries([entry]);
    const { reader } = database;
    const asOf = await reader.asOf(accountId);
    const filter = filterOf({});
    const shown = { ...entry, keyName: "" };
    expect(await reader.findEntry(accountId, id)).toStrictEqual(shown);
    expect((await reader.listEntries({ scope: accountId, filter, asOf }, null, 10)).entries).toStrictEqual([
      shown,
    ]);
    const { entries } = await reader.listRecorded(accountId, filter, { after: 0n as AsOf, upTo: asOf }, 10);
    expect(entries).toStrictEqual([shown]);
    expect(await database.exportOf(accountId, "csv")).toContain(id);
    const lines = await database.exportOf(accountId, "ndjson");
    expect(await verifyAuditExport([lines])).toMatchObject({ ok: true, entries: 1 });
    const stretch = { accountId, format: "ndjson", filter, asOf, cursorStart: `${asOf}~` } as const;
    const proved: string[] = [];
    for await (const text of reader.provedLines((read) => read(), stretch, null))
      proved.push(...text.split("\n"));
    expect(await verifyAuditExport(proved)).toMatchObject({ ok: true, entries: 1, complete: "log" });
    expect((await verifyWholeChain(database.sql, accountId)).problems).toEqual([]);
  });
});
