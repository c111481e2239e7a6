import type { AccountId } from "../../../server/src/contract/account.ts";
import { type AuditEntry, type EntryId, entryIdOf } from "../../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../../server/src/contract/key.ts";
import { type Demand, type Slot, WINDOW_S } from "../../../server/src/contract/limits.ts";
import type { LedgerRow } from "../stores/credit-database.ts";
import type { SimulatedDatabase } from "../stores/database.ts";
import type { SimulatedRedis } from "../stores/redis.ts";
import type { World } from "../world/world.ts";
import { type Attempt, tokensIn, type Wish } from "./facts.ts";
import { brokenByKey, stuckKey } from "./idempotency-keys.ts";
import type { Invariant, Violation } from "./invariants.ts";
import { Spendable } from "./spendable.ts";

export interface RefereeParts {
  readonly world: World;
  readonly database: SimulatedDatabase;
  readonly redis: SimulatedRedis;
  readonly wishes: readonly Wish[];
  readonly accounts: readonly AccountId[];
  readonly maxAtOnce: number;
  readonly maxAMinute: number;
  /** Whether requests from before the admission store has lost what it knew count against the limit of a minute. */
  readonly isMinuteKept: boolean;
  /** How long a request may take beside the time that the model takes. */
  readonly answerWithinMs: number;
  /** Those that are looked at. */
  readonly invariants: ReadonlySet<Invariant>;
}

/** After this many requests of an account within a second, a node may refuse others by what it knew so long ago. */
const MANY = { requests: 4, withinMs: 1_000, rememberedMs: 250 };

/** Two accounts that are locked one after the other are waited for twice, for as long as a statement may take. */
const RECORDED_WITHIN_MS = 12_000;
/** A request may join an ask that was sent while rows of its account were locked. */
const UNLOCKED_AGO_MS = 10_000;

/** A shorter answer is not worth its price: a request that can't pay for it is refused. */
const MIN_ANSWER_TOKENS = 16;

/** Watches a run, and notes the first invariant that is broken. */
export class Referee {
  readonly #parts: RefereeParts;
  readonly #revokedMs = new Map<KeyUuid, number>();
  /** What was released of credit that nodes had reserved, and what entries cost that the database has lost. */
  readonly #released = new Map<AccountId, bigint>();
  readonly #spendable: Spendable;
  readonly #asked = new Map<AccountId, Set<Attempt>>();
  readonly #attempts = new Map<AccountId, Attempt[]>();
  /** When each was admitted, of an account in their order. */
  readonly #admittedMs = new Map<AccountId, Map<Slot, number>>();
  /** The same of all, also of those that were given back. */
  readonly #everAdmittedMs = new Map<AccountId, number[]>();
  #versionsExpiredMs = Number.NEGATIVE_INFINITY;
  /** When the database's clock jumped last: leases that its times end may begin again. */
  #databaseClockMs = Number.NEGATIVE_INFINITY;
  /** Until then more concurrent requests than the limit may be admitted. */
  #limitsHoldFromMs = 0;
  /** When an account was locked last. */
  readonly #unlockedMs = new Map<AccountId, number>();
  #violation: Violation | null = null;

  constructor(parts: RefereeParts) {
    this.#parts = parts;
    const { world, database, redis, accounts } = parts;
    this.#spendable = new Spendable(
      accounts,
      () => world.nowMs,
      (id) => database.credit.balanceOf(id),
    );
    database.credit.onRefused = (what) => this.#report("no overdraft", what);
    database.credit.onChange = (accountId) => {
      this.#spendable.changed(accountId);
      this.#lookAtCredit(accountId);
    };
    database.credit.onInserted = (entry) => this.#spendable.recorded(entry);
    database.onClockJumped = () => (this.#databaseClockMs = world.nowMs);
    redis.onAdmitted = (accountId, demand) => this.#lookAtMinute(accountId, demand);
    redis.onRefused = (accountId, limit) => this.#lookAtRefusal(accountId, limit);
    // It was not served, and is given back to the account.
    redis.onCancelled = (accountId, slot) => void this.#admittedMs.get(accountId)?.delete(slot);
  }

  get violation(): Violation | null {
    return this.#violation;
  }

  /** Must be called when the admission store has lost or may have lost what it knew of running requests. */
  excuseLimits(untilMs: number): void {
    this.#limitsHoldFromMs = Math.max(this.#limitsHoldFromMs, untilMs);
  }

  /** Must be called when Redis has forgotten the versions and epochs of accounts. */
  versionsExpired(): void {
    this.#versionsExpiredMs = this.#parts.world.nowMs;
  }

  /**
   * Must be called when reserved credit of an account was released, of which its node may have promised a part, or when the database has
   * lost entries that a journal may have.
   */
  released(accountId: AccountId, amount: bigint): void {
    this.#released.set(accountId, (this.#released.get(accountId) ?? 0n) + amount);
  }

  /** Must be called when rows of an account are no longer locked. */
  unlocked(accountId: AccountId): void {
    this.#unlockedMs.set(accountId, this.#parts.world.nowMs);
  }

  /** Must be called when a process could not start. */
  notStarted(why: string): void {
    this.#report("starts", why);
  }

  /** Must be called when a revocation was answered. */
  revoked(key: KeyUuid): void {
    if (!this.#revokedMs.has(key)) this.#revokedMs.set(key, this.#parts.world.nowMs);
  }

  started(attempt: Attempt): void {
    const { accountId } = attempt.wish;
    const attempts = this.#attempts.get(accountId) ?? [];
    this.#attempts.set(accountId, attempts);
    attempts.push(attempt);
    this.#spendable.started(attempt);
  }

  /** Must be called when a model is asked, which only an admitted request does. */
  asked(attempt: Attempt): void {
    const { accountId } = attempt.wish;
    const running = this.#asked.get(accountId) ?? new Set();
    this.#asked.set(accountId, running.add(attempt));
    this.#lookAtRevocation(attempt);
    const { world, maxAtOnce } = this.#parts;
    if (running.size > maxAtOnce && world.nowMs >= this.#limitsHoldFromMs)
      this.#report(
        "requests at once",
        `${running.size} at once for ${accountId}, whose limit is ${maxAtOnce}`,
      );
  }

  answered(attempt: Attempt): void {
    this.#asked.get(attempt.wish.accountId)?.delete(attempt);
  }

  ended(attempt: Attempt): void {
    this.answered(attempt);
    if (attempt.outcome?.kind === "whole") {
      this.#lookAtRevocation(attempt);
      this.#parts.world.schedule(RECORDED_WITHIN_MS, null, () => this.#lookAtDelay(attempt));
    }
    this.#lookAtTime(attempt);
    this.#lookAtWant(attempt);
    this.#lookAtReserves(attempt);
    this.#lookAtUnavailable(attempt);
    const inUse = stuckKey(attempt, this.#databaseClockMs);
    if (inUse !== null) this.#report("keys come free", inUse);
    this.#spendable.ended(attempt);
  }

  /** At the end: looks at requests that have no answer yet, too. */
  lookAtOpen(attempts: Iterable<Attempt>): void {
    for (const attempt of attempts) this.#lookAtTime(attempt);
  }

  /** When faults have ended and nothing runs. */
  lookAtSlots(sinceMs: number): void {
    for (const accountId of this.#parts.accounts) {
      const { concurrent } = this.#parts.redis.useOf(accountId);
      if (concurrent === 0) continue;
      const passedS = (this.#parts.world.nowMs - sinceMs) / 1_000;
      this.#report(
        "slots come free",
        `${concurrent} of ${this.#parts.maxAtOnce} slots of ${accountId} are taken ${passedS} s after the last fault, and nothing runs`,
      );
    }
  }

  notDrained(what: string): void {
    this.#report("all drains", what);
  }

  /** When all is over: whether what was answered is what was recorded and charged. */
  lookAtEntries(): void {
    const { database, wishes, accounts } = this.#parts;
    const byId = new Map<EntryId, AuditEntry>();
    const byAddress = new Map<string, AuditEntry[]>();
    const costs = new Map<AccountId, bigint>();
    for (const entry of database.credit.entries.values()) {
      byId.set(entry.id, entry);
      const address = entry.sourceIp ?? "";
      byAddress.set(address, [...(byAddress.get(address) ?? []), entry]);
      costs.set(entry.accountId, (costs.get(entry.accountId) ?? 0n) + entry.costNanoUsd);
    }
    for (const wish of wishes) {
      for (const attempt of wish.attempts) this.#lookAtEntry(attempt, byId);
      if (wish.idempotencyKey === null) continue;
      const entries = (byAddress.get(wish.address) ?? []).filter(
        ({ id }) => !database.credit.repeated.has(id),
      );
      for (const [invariant, what] of brokenByKey(wish, entries)) this.#report(invariant, what);
    }
    for (const accountId of accounts) {
      const balance = database.credit.balanceOf(accountId);
      const rows = database.credit.ledger.filter((row) => row.accountId === accountId);
      const sumOf = (kind: string) =>
        rows.reduce((sum, row) => (row.kind === kind ? sum + row.amount : sum), 0n);
      const cost = costs.get(accountId) ?? 0n;
      const [granted, charged, uncollected] = [sumOf("grant"), sumOf("charge"), sumOf("uncollected")];
      if (balance !== granted + charged + uncollected || -charged !== cost)
        this.#report(
          "balances reconcile",
          `${accountId} has ${balance} of ${granted}; charged ${charged}, uncollected ${uncollected}, and its entries cost ${cost}`,
        );
      const released = this.#released.get(accountId) ?? 0n;
      const unpaid = unpaidOf(rows);
      const unpaidSum = [...unpaid.values()].reduce((sum, amount) => sum + amount, 0n);
      if (unpaidSum > released)
        this.#report(
          "no more unpaid than lost",
          `${unpaidSum} of ${accountId} is uncollected; ${released} may be`,
        );
      for (const [reason, amount] of unpaid) {
        const mayBe = reason === "released" ? released : 0n;
        if (amount > mayBe)
          this.#report("paid for", `${amount} of ${accountId} is uncollected: ${reason}; ${mayBe} may be`);
      }
    }
  }

  #lookAtDelay({ wish: { index, accountId }, requestId }: Attempt): void {
    const { credit } = this.#parts.database;
    const id = requestId === null ? null : entryIdOf(requestId);
    if (id === null || credit.entries.has(id) || credit.locked.includes(accountId)) return;
    const unlockedMs = this.#unlockedMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
    if (this.#parts.world.nowMs - unlockedMs > RECORDED_WITHIN_MS)
      this.#report(
        "recorded soon",
        `request ${index} is not recorded ${RECORDED_WITHIN_MS / 1_000} s after its answer`,
      );
  }

  #lookAtUnavailable({ wish: { index, accountId }, startedMs, outcome }: Attempt): void {
    if (outcome?.kind !== "refused" || outcome.status !== 503) return;
    const isLocked = this.#parts.database.credit.locked.includes(accountId);
    if (
      !isLocked &&
      (this.#unlockedMs.get(accountId) ?? Number.NEGATIVE_INFINITY) < startedMs - UNLOCKED_AGO_MS
    )
      this.#report("refused for locks", `request ${index} of ${accountId} is told: ${outcome.message}`);
  }

  #lookAtEntry({ wish, outcome, requestId }: Attempt, byId: ReadonlyMap<EntryId, AuditEntry>): void {
    const id = requestId === null ? null : entryIdOf(requestId);
    const entry = id === null ? undefined : byId.get(id);
    if (
      outcome?.kind === "refused" &&
      entry !== undefined &&
      outcome.status !== 200 &&
      entry.costNanoUsd > 0n
    )
      this.#report("refused for free", `request ${wish.index} was refused (${outcome.status}) and charged`);
    // A request that failed within the service is recorded, too.
    const isFault = outcome?.kind === "refused" && outcome.code === "internal_error";
    if (entry === undefined) {
      if (outcome?.kind === "whole" || isFault)
        this.#report("recorded once", `request ${wish.index} was answered and has no entry`);
      return;
    }
    if (outcome?.kind !== "whole" || wish.idempotencyKey !== null) return;
    if (entry.costNanoUsd !== BigInt(tokensIn(outcome.text) ?? -1))
      this.#report(
        "recorded once",
        `request ${wish.index} was charged ${entry.costNanoUsd}, its answer is "${outcome.text}"`,
      );
  }

  #lookAtCredit(accountId: AccountId): void {
    const { credit } = this.#parts.database;
    const [balance, reserved] = [credit.balanceOf(accountId), credit.reservedOf(accountId)];
    if (balance < 0n || reserved < 0n || reserved > balance)
      this.#report("no overdraft", `${accountId} has ${balance}, and ${reserved} of it is set aside`);
  }

  #lookAtMinute(accountId: AccountId, { limits, slot }: Demand): void {
    const { world, maxAMinute, isMinuteKept } = this.#parts;
    const ever = this.#everAdmittedMs.get(accountId) ?? [];
    this.#everAdmittedMs.set(accountId, ever);
    ever.push(world.nowMs);
    // Without a limit of the scenario's own, the demand has the plan's.
    if (limits.requestsPerMinute === null || maxAMinute === Number.POSITIVE_INFINITY) return;
    const admitted = this.#admittedMs.get(accountId) ?? new Map<Slot, number>();
    this.#admittedMs.set(accountId, admitted.set(slot, world.nowMs));
    const first = [...admitted.values()].at(-maxAMinute - 1) ?? Number.NEGATIVE_INFINITY;
    const holdsSinceMs = isMinuteKept ? world.nowMs : first;
    if (world.nowMs - first < 60_000 && holdsSinceMs >= this.#limitsHoldFromMs)
      this.#report("requests a minute", `${maxAMinute + 1} of ${accountId} in ${world.nowMs - first} ms`);
  }

  /**
   * A request that was given back may still count: Redis may have lost its slot, and with it what it has to correct. What was admitted
   * before an account's epoch expired may count twice.
   */
  #lookAtRefusal(accountId: AccountId, limit: number): void {
    const { nowMs } = this.#parts.world;
    const isOfMinute = (ms: number) => (Math.floor(ms / 1_000) + 1 + WINDOW_S) * 1_000 > Math.floor(nowMs);
    const mayCount = (this.#everAdmittedMs.get(accountId) ?? [])
      .filter(isOfMinute)
      .reduce((sum, ms) => sum + (ms <= this.#versionsExpiredMs ? 2 : 1), 0);
    if (mayCount < limit)
      this.#report(
        "refused for the minute",
        `${accountId} was refused after ${mayCount} of ${limit} requests`,
      );
  }

  #lookAtRevocation({ wish, startedMs }: Attempt): void {
    const revokedMs = this.#revokedMs.get(wish.key.id);
    if (revokedMs !== undefined && startedMs > revokedMs)
      this.#report(
        "revoked at once",
        `request ${wish.index} began ${startedMs - revokedMs} ms after the revocation was answered`,
      );
  }

  #lookAtTime({ wish, startedMs, endedMs, askedMs, answeredMs }: Attempt): void {
    const { world, answerWithinMs } = this.#parts;
    const modelMs = askedMs === null ? 0 : (answeredMs ?? world.nowMs) - askedMs;
    const tookMs = (endedMs ?? world.nowMs) - startedMs - modelMs;
    if (tookMs <= answerWithinMs) return;
    const how = endedMs === null ? "has no answer after" : "was answered after";
    this.#report("answered in time", `request ${wish.index} ${how} ${(tookMs / 1_000).toFixed(1)} s`);
  }

  #lookAtWant({ wish, outcome, startedMs }: Attempt): void {
    if (outcome?.kind !== "refused" || outcome.code !== "credit_balance_exhausted") return;
    // Its own share is among what others may spend.
    const { leastLeft } = this.#spendable.since(
      wish.accountId,
      startedMs - this.#rememberedMs(wish, startedMs),
    );
    if (leastLeft >= 0n)
      this.#report(
        "refused for want",
        `request ${wish.index} may cost ${wish.maxTokens}; ${wish.accountId} had ${leastLeft + BigInt(wish.maxTokens)} that no other request could spend`,
      );
  }

  #lookAtReserves({ wish, outcome, startedMs }: Attempt): void {
    if (outcome?.kind !== "refused" || !outcome.message.includes("reserved")) return;
    const needed = BigInt(Math.min(wish.maxTokens, MIN_ANSWER_TOKENS));
    const { mostHad } = this.#spendable.since(
      wish.accountId,
      startedMs - this.#rememberedMs(wish, startedMs),
    );
    if (mostHad < needed)
      this.#report(
        "refused for reserves",
        `request ${wish.index} needs ${needed}; ${wish.accountId} had ${mostHad}, and the answer was "${outcome.message}"`,
      );
  }

  /** For how long before a request its node may remember what the database has answered. */
  #rememberedMs({ accountId }: Wish, startedMs: number): number {
    const attempts = this.#attempts.get(accountId) ?? [];
    let recent = 0;
    // Most of the recent ones are the last.
    for (let index = attempts.length - 1; index >= 0 && recent <= MANY.requests; index--) {
      const endedMs = attempts[index]?.endedMs ?? Number.POSITIVE_INFINITY;
      if (endedMs >= startedMs - MANY.withinMs) recent++;
    }
    return recent > MANY.requests ? MANY.rememberedMs : 0;
  }

  #report(invariant: Invariant, what: string): void {
    if (this.#violation !== null || !this.#parts.invariants.has(invariant)) return;
    this.#violation = { invariant, atMs: this.#parts.world.nowMs, what };
    this.#parts.world.note(() => `BROKEN: ${invariant}: ${what}`);
  }
}

/** What is uncollected, by its reason: other than second answers to idempotency keys. */
function unpaidOf(ledger: readonly LedgerRow[]): ReadonlyMap<string, bigint> {
  const unpaid = new Map<string, bigint>();
  for (const { kind, reason, amount } of ledger) {
    if (kind === "uncollected" && reason !== "repeated")
      unpaid.set(reason, (unpaid.get(reason) ?? 0n) + amount);
  }
  return unpaid;
}
