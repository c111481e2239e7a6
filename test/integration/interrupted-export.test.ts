import { randomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { type Service, type ServiceOptions, startService } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";
import { type Line, linesOf, reader } from "./audit-service.ts";

/** The batches hold more bytes than the buffers between a service and a client that does not read. */
const BATCHES = 6;
const ENTRIES_OF_BATCH = 1_000;
/** The longest text of an entry that its index takes is a third of a page. */
const ENTRY_BYTES = 1_500;
const EXPORT = "/v1/audit/export";

/** An account with so many entries that an export of them is interrupted when it is under way. */
async function longLog(service: Service) {
  const owner = await signUp(service.baseUrl);
  const { id } = await owner.trpc.account.get.query();
  const { id: key } = await owner.trpc.keys.create.mutate({ name: "busy" });
  await using sql = await openDatabaseOf(service);
  const audit = new PostgresAudit(sql, crypto.randomUUID());
  const startMs = Date.now() - 60_000;
  const ids: string[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const entries = Array.from({ length: ENTRIES_OF_BATCH }, (_, index) => {
      const msecs = startMs + batch;
      const entry = uuidv7({ msecs, seq: index }) as EntryId;
      return auditEntry({
        id: entry,
        accountId: id as AccountId,
        key: key as KeyUuid,
        at: new Date(msecs),
        // Compression must not make the export short.
        upstream: randomBytes(ENTRY_BYTES).toString("base64"),
      });
    });
    await audit.insertEntries(entries);
    ids.push(...entries.map((entry) => entry.id));
  }
  return { headers: await reader(owner), ids };
}

/** An export that is broken off by the end of its service. @returns its whole lines. */
async function interruptedExport(service: Service, headers: Record<string, string>, end: "stop" | "kill") {
  const response = await fetch(`${service.baseUrl}${EXPORT}`, { headers: plain(headers) });
  const compressed = await fetch(`${service.baseUrl}${EXPORT}`, { headers });
  expect(compressed.headers.get("content-encoding")).toBe("gzip");
  const body = response.body?.getReader();
  const chunks = [await body?.read()];
  await service[end]();
  const rest = async () => {
    for (let part = await body?.read(); part?.done === false; part = await body?.read()) chunks.push(part);
  };
  await expect(rest()).rejects.toThrow();
  await expect(compressed.arrayBuffer()).rejects.toThrow();
  const text = Buffer.concat(chunks.map((part) => part?.value ?? new Uint8Array())).toString();
  return linesOf(text.slice(0, text.lastIndexOf("\n") + 1));
}

const plain = (headers: Record<string, string>) => ({ ...headers, "accept-encoding": "identity" });

/** The stores that a service left, for the next. */
function storesOf({ dataDir, databaseUrl }: Service): ServiceOptions {
  return { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
}

/** That the lines and those of an export after the last of them are the whole log. */
async function expectResumed(
  service: Service,
  { headers, ids }: Awaited<ReturnType<typeof longLog>>,
  kept: readonly Line[],
) {
  expect(kept.length).toBeLessThan(ids.length);
  const cursor = encodeURIComponent(kept.at(-1)?.cursor ?? "");
  const resumed = await fetch(`${service.baseUrl}${EXPORT}?cursor=${cursor}`, { headers: plain(headers) });
  const all = [...kept, ...linesOf(await resumed.text())].map(({ request_id }) => request_id);
  expect(all).toHaveLength(ids.length);
  expect(new Set(all).size).toBe(ids.length);
}

describe("an export during which the service ends", () => {
  it("is an error for its client, and resumes after the last line, whether the service is stopped or killed", async () => {
    await using first = await startService({ env: { OSTIARY_DRAIN_S: "0" } });
    const log = await longLog(first);
    const stopped = await interruptedExport(first, log.headers, "stop");
    await using second = await startService(storesOf(first));
    await expectResumed(second, log, stopped);
    const killed = await interruptedExport(second, log.headers, "kill");
    await using third = await startService(storesOf(first));
    await expectResumed(third, log, killed);
  });
});
