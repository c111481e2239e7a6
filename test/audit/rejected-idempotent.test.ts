import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { expect, it } from "vitest";
import { Recorder } from "../../server/src/audit/recorder.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { ClaimId } from "../../server/src/contract/kept-answer.ts";
import { Idempotency, idempotentRequest } from "../../server/src/idempotency/idempotency.ts";
import { Journal } from "../../server/src/journal/journal.ts";
import { SEAL_KEY_BYTES, Sealer } from "../../server/src/secrets/sealer.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

it("the claim of a request whose entry the database rejects is not renewed for ever", async () => {
  const renewed: (readonly ClaimId[])[] = [];
  const store = {
    claim: async () => ({ kind: "claimed" }) as const,
    release: async () => {},
    renew: async (claims: readonly ClaimId[]) => void renewed.push(claims),
    now: async () => new Date(),
  };
  const idempotency = new Idempotency(store, new Sealer([new Uint8Array(SEAL_KEY_BYTES)]));
  const request = idempotentRequest(
    crypto.randomUUID() as AccountId,
    "POST /v1/embeddings",
    "once",
    new Uint8Array(),
  );
  const result = await idempotency.claim(request);
  if (result.kind !== "claimed") throw new Error("the request was not known before");
  const { claim } = result;
  await idempotency.renew();
  expect(renewed).toEqual([[claim.id]]);

  const folder = await mkdtemp(join(tmpdir(), "ostiary-journal-"));
  try {
    const { journal } = await Journal.open({ folder, sync: false });
    const sink = {
      insertEntries: () =>
        Promise.reject(Object.assign(new Error("invalid input syntax for type inet"), { code: "22P02" })),
    };
    const log = pino({ level: "silent" });
    const recorder = new Recorder({
      journal,
      sink,
      durability: "journal",
      log,
      onRejected: (entries) => idempotency.forget(entries),
    });
    const record = claim.answered({ isStream: false, model: "acme/inner", text: "an answer" });
    const { stored } = await recorder.record({ ...auditEntry(), idempotency: record });
    await stored;
    await recorder.stop();
    expect(journal.rejectedLines()).toBe(1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await idempotency.renew();
  expect(renewed).toHaveLength(1);
});
