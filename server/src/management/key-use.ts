import type { Recorder } from "../audit/recorder.ts";
import type { AuditEntry, EntryId } from "../contract/entry.ts";
import type { KeySnapshot } from "../contract/key.ts";
import { withoutSecrets } from "../secrets/redact.ts";

const MAX_ENDPOINT_LENGTH = 256;

/** A management request made with an API key. */
export interface KeyUse {
  readonly id: EntryId;
  readonly at: Date;
  readonly request: Request;
  readonly sourceIp: string | null;
}

/** Every request with a key is logged (specification, section 2), so are the procedures that a key may call. */
export async function recordKeyUse(
  recorder: Pick<Recorder, "record">,
  now: () => Date,
  use: KeyUse,
  snapshot: KeySnapshot,
  outcome: Pick<AuditEntry, "status" | "errorCode" | "wouldRefuse">,
): Promise<void> {
  const { pathname } = new URL(use.request.url);
  await recorder.record({
    id: use.id,
    at: use.at,
    accountId: snapshot.account.id,
    key: snapshot.key.id,
    keyId: snapshot.key.keyId,
    endpoint: withoutSecrets(`${use.request.method} ${pathname}`).slice(0, MAX_ENDPOINT_LENGTH),
    model: null,
    upstream: null,
    ...outcome,
    endReason: outcome.status < 400 ? "stop" : "refused",
    usageSource: "none",
    promptTokens: null,
    completionTokens: null,
    cachedTokens: null,
    costNanoUsd: 0n,
    latencyMs: Math.max(0, now().getTime() - use.at.getTime()),
    timeToFirstTokenMs: null,
    sourceIp: use.sourceIp,
  });
}
