import type { AccountId } from "../../../server/src/contract/account.ts";
import type { SpenderId } from "../../../server/src/contract/ids.ts";
import type { ClaimId, IdempotencyRecord, KeptAnswer } from "../../../server/src/contract/kept-answer.ts";
import {
  CLAIM_LEASE_MS,
  type ClaimOutcome,
  type IdempotentRequest,
  KEPT_MS,
  type Replaceable,
} from "../../../server/src/idempotency/idempotency.ts";
import { NO_FAULTS, type ReintroducedFaults } from "./reintroduced-faults.ts";

interface Row {
  bodyDigest: string;
  claim: ClaimId;
  nodeId: string;
  /** Which life of the node claimed it; `null` when it was answered without a claim that is known here. */
  spender: SpenderId | null;
  createdAtMs: number;
  renewedAtMs: number;
  /** `null`: it is being answered. */
  answered: { readonly answer: KeptAnswer | null } | null;
}

/**
 * The database's table of requests with idempotency keys, with statements that do what `PostgresIdempotency`'s SQL does.
 * `test/contract/idempotency-store.test.ts` holds both to be the same.
 */
export class IdempotencyTable {
  readonly #nowMs: () => number;
  readonly #faults: ReintroducedFaults;
  readonly #rows = new Map<string, Row>();

  constructor(nowMs: () => number, faults: ReintroducedFaults = NO_FAULTS) {
    this.#nowMs = nowMs;
    this.#faults = faults;
  }

  /**
   * How many requests are claimed and have no answer yet. Not those whose lease is over: the claim of a node that died may
   * arrive when nobody is left to release it.
   */
  get running(): number {
    const leasedSinceMs = this.#nowMs() - CLAIM_LEASE_MS;
    return [...this.#rows.values()].filter(
      ({ answered, renewedAtMs }) => answered === null && renewedAtMs >= leasedSinceMs,
    ).length;
  }

  /** Requests that were answered. */
  get answered(): readonly { readonly claim: ClaimId; readonly answer: KeptAnswer | null }[] {
    return [...this.#rows.values()].flatMap(({ claim, answered }) =>
      answered === null ? [] : [{ claim, answer: answered.answer }],
    );
  }

  /** @returns what restores the table as it is now. */
  backUp(): () => void {
    const rows = [...this.#rows].map(([key, row]) => [key, { ...row }] as const);
    return () => {
      this.#rows.clear();
      for (const [key, row] of rows) this.#rows.set(key, row);
    };
  }

  claim(
    nodeId: string,
    spender: SpenderId | null,
    request: IdempotentRequest,
    claim: ClaimId,
    replaceable: Replaceable,
  ): ClaimOutcome {
    const nowMs = this.#nowMs();
    const bodyDigest = textOf(request.bodyDigest);
    const known = this.#rows.get(keyOf(request));
    if (known === undefined || this.#isReplaceable(known, bodyDigest, replaceable)) {
      const row = {
        bodyDigest,
        claim,
        nodeId,
        spender,
        createdAtMs: nowMs,
        renewedAtMs: nowMs,
        answered: null,
      };
      this.#rows.set(keyOf(request), row);
      return { kind: "claimed" };
    }
    const isRunning = known.answered === null;
    if (isRunning && !this.#faults.has("times ahead last"))
      known.renewedAtMs = Math.min(known.renewedAtMs, nowMs);
    if (known.bodyDigest !== bodyDigest) return { kind: "differs" };
    return known.answered === null ? { kind: "running" } : { kind: "answered", ...known.answered };
  }

  /** What the batch does that charges the request. @returns whether this attempt has won the key. */
  keep(
    accountId: AccountId,
    { claim, idempotencyKeyDigest, bodyDigest, answer }: IdempotencyRecord,
  ): boolean {
    const key = `${accountId} ${idempotencyKeyDigest}`;
    const known = this.#rows.get(key);
    if (known !== undefined && (known.answered !== null || known.bodyDigest !== bodyDigest)) return false;
    const nowMs = this.#nowMs();
    const row = known ?? { bodyDigest, nodeId: "", spender: null, createdAtMs: nowMs, renewedAtMs: nowMs };
    this.#rows.set(key, { ...row, claim, answered: { answer } });
    return true;
  }

  release(claims: readonly ClaimId[]): void {
    for (const [key, { answered, claim }] of this.#rows)
      if (answered === null && claims.includes(claim)) this.#rows.delete(key);
  }

  renew(claims: readonly ClaimId[]): void {
    for (const row of this.#unanswered(claims)) row.renewedAtMs = this.#nowMs();
  }

  clear(nodeId: string, spender: SpenderId): void {
    for (const [key, row] of this.#rows) {
      const isFormer = row.spender === null || row.spender < spender;
      if (row.nodeId === nodeId && row.answered === null && isFormer) this.#rows.delete(key);
    }
  }

  /** Whether a new request may claim the key. */
  #isReplaceable(row: Row, bodyDigest: string, { renewedBefore, createdBefore }: Replaceable): boolean {
    const nowMs = this.#nowMs();
    const isTrusted = this.#faults.has("jumps end leases");
    const before = (ageMs: number, limit: Date) =>
      Math.min(nowMs - ageMs, isTrusted ? nowMs : limit.getTime());
    if (row.answered === null && row.renewedAtMs >= before(CLAIM_LEASE_MS, renewedBefore)) return false;
    if (row.createdAtMs < before(KEPT_MS, createdBefore)) return true;
    return row.answered === null && row.bodyDigest === bodyDigest;
  }

  #unanswered(claims: readonly ClaimId[]): readonly Row[] {
    return [...this.#rows.values()].filter(
      ({ answered, claim }) => answered === null && claims.includes(claim),
    );
  }
}

function keyOf({ accountId, idempotencyKeyDigest }: IdempotentRequest): `${AccountId} ${string}` {
  return `${accountId} ${textOf(idempotencyKeyDigest)}`;
}

function textOf(digest: Uint8Array): string {
  return Buffer.from(digest).toString("base64");
}
