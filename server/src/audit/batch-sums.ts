import { MINUTE_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry, EntryId } from "../contract/entry.ts";
import type { SpenderId } from "../contract/ids.ts";
import type { ClaimId } from "../contract/kept-answer.ts";
import type { KeyUuid } from "../contract/key.ts";

/** The sum of entries of a batch that differ in nothing that usage is summed by. Times are in Unix milliseconds. */
interface UsageSum {
  readonly accountId: AccountId;
  readonly key: KeyUuid;
  readonly model: string | null;
  readonly upstream: string | null;
  readonly status: number;
  readonly errorCode: string | null;
  readonly sourceIp: string | null;
  readonly minuteMs: number;
  lastMs: number;
  requests: number;
  promptTokens: bigint;
  completionTokens: bigint;
  cachedTokens: bigint;
  costNanoUsd: bigint;
}

/** The cost of those entries of an account that name the same spender. */
interface ChargeSum {
  readonly accountId: AccountId;
  /** `null`: the entries are of a former version, which named none. */
  readonly spender: SpenderId | null;
  /** The claim of the one entry that is charged, which is collected only if its answer is kept; `null`: entries without an idempotency key. */
  readonly claim: ClaimId | null;
  costNanoUsd: bigint;
  implausibleNanoUsd: bigint;
}

/** The answer to an idempotency key; the digests are in Base64. */
interface AnswerRow {
  readonly entry: EntryId;
  readonly accountId: AccountId;
  readonly claim: ClaimId;
  readonly idempotencyKeyDigest: string;
  readonly bodyDigest: string;
  readonly isStream: boolean | null;
  readonly model: string | null;
  readonly text: string | null;
}

/** The usage of a batch's entries. */
export function usageOf(entries: readonly AuditEntry[]): readonly UsageSum[] {
  const usages: UsageSum[] = [];
  /**
   * The sums by a key that is made of their values. Different sums may have the same key, because values may contain the spaces that separate them.
   */
  const named = new Map<string, UsageSum[]>();
  for (const entry of entries) {
    const { accountId, key, model, upstream, status, errorCode, sourceIp } = entry;
    const atMs = entry.at.getTime();
    const minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    const name = `${key} ${minuteMs} ${status} ${errorCode} ${sourceIp} ${upstream} ${model}`;
    const candidates = named.get(name) ?? [];
    let usage = candidates.find((candidate) => candidate.minuteMs === minuteMs && isOf(candidate, entry));
    if (usage === undefined) {
      usage = {
        accountId,
        key,
        model,
        upstream,
        status,
        errorCode,
        sourceIp,
        minuteMs,
        lastMs: atMs,
        requests: 0,
        promptTokens: 0n,
        completionTokens: 0n,
        cachedTokens: 0n,
        costNanoUsd: 0n,
      };
      usages.push(usage);
      named.set(name, [...candidates, usage]);
    }
    usage.lastMs = Math.max(usage.lastMs, atMs);
    usage.requests++;
    usage.promptTokens += BigInt(entry.promptTokens ?? 0);
    usage.completionTokens += BigInt(entry.completionTokens ?? 0);
    usage.cachedTokens += BigInt(entry.cachedTokens ?? 0);
    usage.costNanoUsd += entry.costNanoUsd;
  }
  return usages;
}

function isOf(usage: UsageSum, entry: AuditEntry): boolean {
  return (
    usage.accountId === entry.accountId &&
    usage.key === entry.key &&
    usage.model === entry.model &&
    usage.upstream === entry.upstream &&
    usage.status === entry.status &&
    usage.errorCode === entry.errorCode &&
    usage.sourceIp === entry.sourceIp
  );
}

/** Whether credit or debts change when the entry is recorded. */
export function isCharged({ costNanoUsd, implausibleNanoUsd = 0n }: AuditEntry): boolean {
  return costNanoUsd > 0n || implausibleNanoUsd > 0n;
}

/** What a batch's entries are charged. */
export function chargesOf(entries: readonly AuditEntry[]): readonly ChargeSum[] {
  const charges = new Map<string, ChargeSum>();
  for (const {
    id,
    accountId,
    spender = null,
    idempotency,
    costNanoUsd,
    implausibleNanoUsd = 0n,
  } of entries.filter(isCharged)) {
    const name = idempotency === undefined ? `${accountId} ${spender}` : id;
    const charge = charges.get(name);
    if (charge === undefined) {
      charges.set(name, {
        accountId,
        spender,
        claim: idempotency?.claim ?? null,
        costNanoUsd,
        implausibleNanoUsd,
      });
    } else {
      charge.costNanoUsd += costNanoUsd;
      charge.implausibleNanoUsd += implausibleNanoUsd;
    }
  }
  return [...charges.values()];
}

/** The answers to idempotency keys that a batch's entries carry. */
export function answersOf(entries: readonly AuditEntry[]): readonly AnswerRow[] {
  return entries.flatMap(({ id, accountId, idempotency }) => {
    if (idempotency === undefined) return [];
    const { claim, idempotencyKeyDigest, bodyDigest, answer } = idempotency;
    const { isStream = null, model = null, text = null } = answer ?? {};
    return [{ entry: id, accountId, claim, idempotencyKeyDigest, bodyDigest, isStream, model, text }];
  });
}
