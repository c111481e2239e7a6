import { beforeEach, describe, expect, it } from "vitest";
import type { AuditLog } from "../../server/src/audit/audit-log.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { untilEnded } from "../../server/src/database/reads.ts";
import { exportAuditEntries } from "../../server/src/operations/audit.ts";

const ACCOUNT = "a" as AccountId;

/** Exports that have begun and not ended. */
let running: number;

beforeEach(() => {
  running = 0;
});

/** An audit log with some lines, as far as exports go. */
const auditLog: Pick<AuditLog, "export"> = {
  export: async () => {
    running++;
    const lines = async function* () {
      for (let line = 0; line < 10; line++) yield `line ${line}\n`;
    };
    return untilEnded(lines(), () => running--);
  },
};

async function exported(format: string, coding: string): Promise<AsyncIterator<string | Uint8Array>> {
  const operation = exportAuditEntries(auditLog as AuditLog);
  const input = operation.read({
    query: new URLSearchParams({ format }),
    parameters: {},
    header: (name) => (name === "accept-encoding" ? [coding] : []),
  });
  const reply = await operation.run({ input, accountId: ACCOUNT });
  if (reply.kind !== "stream") throw new Error("not a stream");
  return reply.chunks[Symbol.asyncIterator]();
}

describe.each([
  ["ndjson", "identity"],
  ["ndjson", "gzip"],
  ["csv", "identity"],
  ["csv", "gzip"],
])("an export as %s, %s", (format, coding) => {
  it.each([0, 1, 2])("has ended when it is left after %i of its chunks", async (chunks) => {
    const iterator = await exported(format, coding);
    for (let read = 0; read < chunks; read++) await iterator.next();
    await iterator.return?.();
    await expect.poll(() => running).toBe(0);
  });

  it("has ended when it is read to its end", async () => {
    const iterator = await exported(format, coding);
    while ((await iterator.next()).done !== true);
    await expect.poll(() => running).toBe(0);
  });
});
