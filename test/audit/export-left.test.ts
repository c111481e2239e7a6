import { beforeEach, describe, expect, it } from "vitest";
import type { AuditLog } from "../../server/src/audit/audit-log.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Reads, untilEnded } from "../../server/src/database/reads.ts";
import { RequestAbort } from "../../server/src/errors/request-signal.ts";
import { exportAuditEntries } from "../../server/src/operations/audit.ts";

const ACCOUNT = "a" as AccountId;

/** Exports that have begun and not ended. */
let running: number;
/** Aborted when the client has disconnected. */
let abort: RequestAbort;
/** The page that the database does not answer. */
let silentPage: number;
let isSilent: boolean;

beforeEach(() => {
  running = 0;
  abort = new RequestAbort();
  silentPage = Number.POSITIVE_INFINITY;
  isSilent = false;
});

/** An audit log with some lines, as far as exports go. */
const auditLog: Pick<AuditLog, "export"> = {
  export: async () => {
    running++;
    const stream = new Reads(() => performance.now()).stream(ACCOUNT);
    const lines = async function* () {
      for (let page = 0; page < 10; page++) {
        yield await stream.run(async () => {
          isSilent = page === silentPage;
          if (isSilent) await new Promise(() => {});
          return `line ${page}\n`;
        });
      }
    };
    return untilEnded(lines(), () => {
      running--;
      stream.end();
    });
  },
};

async function exported(format: string, coding: string): Promise<AsyncIterator<string | Uint8Array>> {
  const operation = exportAuditEntries(auditLog as AuditLog);
  const input = operation.read({
    query: new URLSearchParams({ format }),
    parameters: {},
    header: (name) => (name === "accept-encoding" ? [coding] : []),
  });
  const reply = await operation.run({
    input,
    accountId: ACCOUNT,
    signal: abort,
    requireAllowed: async () => {},
  });
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

  it.each([0, 3])(
    "has ended when its client leaves while the database does not answer page %i",
    async (page) => {
      silentPage = page;
      const iterator = await exported(format, coding);
      const read = async () => {
        while ((await iterator.next()).done !== true);
      };
      const reading = read();
      await expect.poll(() => isSilent).toBe(true);
      expect(running).toBe(1);
      abort.abort("client_gone");
      expect(running).toBe(0);
      await expect(reading).rejects.toThrow();
    },
  );

  it("has ended when its client left before it began", async () => {
    abort.abort("client_gone");
    const iterator = await exported(format, coding);
    expect(running).toBe(0);
    await expect(iterator.next()).rejects.toThrow();
  });

  it("does not seem complete when the service stops between two of its pages", async () => {
    const iterator = await exported(format, coding);
    await iterator.next();
    abort.abort("client_gone");
    expect(running).toBe(0);
    await expect(iterator.next()).rejects.toThrow();
  });

  it("has ended when it is read to its end", async () => {
    const iterator = await exported(format, coding);
    while ((await iterator.next()).done !== true);
    await expect.poll(() => running).toBe(0);
  });
});
