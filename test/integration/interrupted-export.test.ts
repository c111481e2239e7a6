import { randomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";
import { linesOf, reader } from "./audit-service.ts";

/** More than the buffers between a service and a client that does not read hold. */
const BATCHES = 6;
const ENTRIES_OF_BATCH = 2_000;
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
        upstream: randomBytes(750).toString("base64"),
      });
    });
    await audit.insertEntries(entries);
    ids.push(...entries.map((entry) => entry.id));
  }
  return { headers: await reader(owner), ids };
}

describe("an export during which the service ends", () => {
  it.each(["stop", "kill"] as const)(
    "is an error for its client, and resumes after the last line: %s",
    async (end) => {
      await using first = await startService({ env: { OSTIARY_DRAIN_S: "0" } });
      const { headers, ids } = await longLog(first);
      const plain = { ...headers, "accept-encoding": "identity" };
      const response = await fetch(`${first.baseUrl}${EXPORT}`, { headers: plain });
      const compressed = await fetch(`${first.baseUrl}${EXPORT}`, { headers });
      expect(compressed.headers.get("content-encoding")).toBe("gzip");
      const body = response.body?.getReader();
      const chunks = [await body?.read()];
      await first[end]();
      const rest = async () => {
        for (let part = await body?.read(); part?.done === false; part = await body?.read())
          chunks.push(part);
      };
      await expect(rest()).rejects.toThrow();
      await expect(compressed.arrayBuffer()).rejects.toThrow();

      const text = Buffer.concat(chunks.map((part) => part?.value ?? new Uint8Array())).toString();
      const kept = linesOf(text.slice(0, text.lastIndexOf("\n") + 1));
      expect(kept.length).toBeLessThan(ids.length);
      await using second = await startService({
        dataDir: first.dataDir,
        ...(first.databaseUrl === undefined ? {} : { databaseUrl: first.databaseUrl }),
      });
      const cursor = encodeURIComponent(kept.at(-1)?.cursor ?? "");
      const resumed = await fetch(`${second.baseUrl}${EXPORT}?cursor=${cursor}`, { headers: plain });
      const all = [...kept, ...linesOf(await resumed.text())].map(({ request_id }) => request_id);
      expect(all).toHaveLength(ids.length);
      expect(new Set(all).size).toBe(ids.length);
    },
  );
});
