import type { AccountId } from "../../../server/src/contract/account.ts";
import type { AuditEntry, EntryId } from "../../../server/src/contract/entry.ts";
import type { SpenderId } from "../../../server/src/contract/ids.ts";
import {
  type Ask,
  type AskAnswer,
  type CreditStore,
  type LeastSeenSpender,
  SpenderGone,
  type SpenderNews,
  type UnseenSpender,
} from "../../../server/src/credits/credit-store.ts";
import type { Uncollected } from "../../../server/src/credits/ledger.ts";
import { IdempotencyTable } from "./idempotency-table.ts";
import { NO_FAULTS, type ReintroducedFaults } from "./reintroduced-faults.ts";

/** A spender that was not seen for so long counts as away. */
const AWAY_MS = 60_000;
/** With the fault reintroduced: after this time a reserve goes to others. */
const LAPSE_MS = 10 * 60_000;

export interface Reserve {
  granted: bigint;
  charged: bigint;
  number: bigint;
  wanted: boolean;
}

interface SpenderRow {
  readonly nodeId: string;
  seenMs: number;
  readonly reserves: Map<AccountId, Reserve>;
}

export interface LedgerRow {
  readonly accountId: AccountId;
  readonly kind: "grant" | "charge" | "uncollected";
  readonly amount: bigint;
  readonly reason: string;
}

/**
 * The credit tables of the database in memory, with the meaning of the SQL in `postgres-credit.ts` and `count-and-charge.ts`: each
 * method is one transaction. `test/contract/credit-store.test.ts` holds both to be the same. Breaking a check constraint
 * throws, as it does there.
 */
export class CreditDatabase {
  readonly free = new Map<AccountId, bigint>();
  readonly spenders = new Map<SpenderId, SpenderRow>();
  readonly entries = new Map<EntryId, AuditEntry>();
  /** Entries whose answers came second for their idempotency keys: they are not charged. */
  readonly repeated = new Set<EntryId>();
  readonly ledger: LedgerRow[] = [];
  readonly idempotency: IdempotencyTable;
  /** Accounts whose rows other transactions have locked, as often as they are in the list. */
  readonly locked: AccountId[] = [];
  /** Accounts that a transaction which closes a spender has locked, while it waits for one of those above. */
  readonly lockedByCloses: AccountId[] = [];
  /** Told after each statement that changes something, of the account that it changed. */
  onChange: (accountId: AccountId) => void = () => {};
  /** Told of each entry that is inserted, when its charge is made. */
  onInserted: (entry: AuditEntry) => void = () => {};
  /** Told of each statement that a check constraint refuses: the protocol should never send one. */
  onRefused: (what: string) => void = () => {};
  readonly #nowMs: () => number;
  readonly #faults: ReintroducedFaults;
  #nextSpender = 1n;

  /** `nowMs`: the database's clock. */
  constructor(nowMs: () => number, faults: ReintroducedFaults = NO_FAULTS) {
    this.#nowMs = nowMs;
    this.#faults = faults;
    this.idempotency = new IdempotencyTable(nowMs, faults);
  }

  grant(accountId: AccountId, amount: bigint): void {
    this.#setFree(accountId, (this.free.get(accountId) ?? 0n) + amount);
    this.ledger.push({ accountId, kind: "grant", amount, reason: "test" });
  }

  /** What spenders have reserved of an account's credit, and not charged yet. */
  reservedOf(accountId: AccountId): bigint {
    return this.balanceOf(accountId) - (this.free.get(accountId) ?? 0n);
  }

  /** What is free, and what is set aside. */
  balanceOf(accountId: AccountId): bigint {
    let balance = this.free.get(accountId) ?? 0n;
    for (const { reserves } of this.spenders.values()) {
      const reserve = reserves.get(accountId);
      if (reserve !== undefined) balance += reserve.granted - reserve.charged;
    }
    return balance;
  }

  /**
   * Backs the tables up. @returns what restores them, and returns the entries that are lost by that. Unless nodes notice that the database
   * was restored, it gives new spenders the ids of those that it has lost.
   */
  backUp(): (isNoticed: boolean) => readonly AuditEntry[] {
    const free = new Map(this.free);
    const spenders = [...this.spenders].map(
      ([id, { reserves, ...row }]) =>
        [
          id,
          { ...row, reserves: new Map([...reserves].map(([of, reserve]) => [of, { ...reserve }])) },
        ] as const,
    );
    const entries = new Map(this.entries);
    const repeated = new Set(this.repeated);
    const ledger = [...this.ledger];
    const restoreAnswers = this.idempotency.backUp();
    const nextSpender = this.#nextSpender;
    return (isNoticed) => {
      const lost = [...this.entries.values()].filter(({ id }) => !entries.has(id));
      this.spenders.clear();
      for (const [id, row] of spenders) this.spenders.set(id, row);
      this.entries.clear();
      for (const [id, entry] of entries) this.entries.set(id, entry);
      this.repeated.clear();
      for (const id of repeated) this.repeated.add(id);
      this.ledger.splice(0, this.ledger.length, ...ledger);
      restoreAnswers();
      if (!isNoticed) this.#nextSpender = nextSpender;
      for (const [accountId, amount] of free) this.#setFree(accountId, amount);
      return lost;
    };
  }

  /** The store as a node uses it, without a network between them. */
  storeOf(nodeId: string): CreditStore {
    return {
      open: async () => this.open(nodeId),
      ask: async (ask) => this.ask(ask),
      heartbeat: async (spenders) => this.heartbeat(spenders),
      closeBelow: async (id) => this.closeBelow(nodeId, id),
      listUnseen: async (unseenMs) => this.listUnseen(nodeId, unseenMs),
      releaseUnseen: async (spender, unseenMs) => this.releaseUnseen(spender, unseenMs),
    };
  }

  open(nodeId: string): SpenderId {
    const id = this.#nextSpender++ as SpenderId;
    this.spenders.set(id, { nodeId, seenMs: this.#nowMs(), reserves: new Map() });
    return id;
  }

  ask({ accountId, spender, number, targetNanoUsd: target, extraNanoUsd }: Ask): AskAnswer {
    if (this.#faults.has("reserves lapse")) this.#lapse(spender);
    const free = this.free.get(accountId) ?? 0n;
    const row = this.spenders.get(spender);
    const was = row?.reserves.get(accountId) ?? { granted: 0n, charged: 0n, number: 0n, wanted: false };
    let granted = was.granted;
    if (was.number < number || this.#faults.has("asks have no numbers")) {
      granted = max(was.charged, min(target + min(extraNanoUsd, free / 10n), was.granted + free));
      // The foreign key.
      if (row === undefined) throw new SpenderGone(`spender ${spender} is closed`);
      row.reserves.set(accountId, this.#checked({ ...was, granted, number, wanted: false }));
      this.#setFree(accountId, free - (granted - was.granted));
    }
    const chargedNanoUsd = this.#faults.has("asks tell no charges") ? 0n : was.charged;
    let elsewhereNanoUsd = 0n;
    let stuckNanoUsd = 0n;
    let leastSeen: LeastSeenSpender | null = null;
    for (const [id, other] of this.spenders) {
      const reserve = id === spender ? undefined : other.reserves.get(accountId);
      if (reserve === undefined) continue;
      if (this.#nowMs() - other.seenMs <= AWAY_MS) elsewhereNanoUsd += reserve.granted - reserve.charged;
      else stuckNanoUsd += reserve.granted - reserve.charged;
      const unseenMs = this.#nowMs() - other.seenMs;
      if (reserve.granted > reserve.charged && unseenMs > (leastSeen?.unseenMs ?? Number.NEGATIVE_INFINITY))
        leastSeen = { id: String(id), unseenMs };
      if (was.number < number && granted < target) reserve.wanted = true;
    }
    return { grantedNanoUsd: granted, chargedNanoUsd, elsewhereNanoUsd, stuckNanoUsd, leastSeen };
  }

  heartbeat(spenders: readonly SpenderId[]): SpenderNews {
    const nowMs = this.#nowMs();
    for (const row of this.spenders.values()) {
      if (!this.#faults.has("times ahead last")) row.seenMs = Math.min(row.seenMs, nowMs);
    }
    const gone = spenders.filter((id) => !this.spenders.has(id));
    const reclaimed = spenders.flatMap((spender) => {
      const row = this.spenders.get(spender);
      if (row === undefined) return [];
      row.seenMs = nowMs;
      return [...row.reserves].flatMap(([accountId, reserve]) =>
        reserve.wanted ? [{ accountId, spender }] : [],
      );
    });
    return { gone, reclaimed };
  }

  closeBelow(nodeId: string, below: SpenderId): boolean {
    for (;;) {
      const outcome = this.closeNext(nodeId, below);
      if (outcome !== "went on") return outcome === "closed";
    }
  }

  /** One transaction of `closeBelow`, which frees an account or deletes a spender: whether all is closed then, or what is left is locked. */
  closeNext(nodeId: string, below: SpenderId): "went on" | "closed" | "locked" {
    const former = [...this.spenders].filter(([id, row]) => row.nodeId === nodeId && id < below);
    for (const [id, { reserves }] of former) {
      const next = [...reserves].find(([accountId]) => !this.isLocked(accountId));
      if (next !== undefined) this.#free(id, ...next);
      else if (reserves.size === 0) this.spenders.delete(id);
      else continue;
      return "went on";
    }
    return former.length === 0 ? "closed" : "locked";
  }

  isLocked(accountId: AccountId): boolean {
    return this.locked.includes(accountId) || this.lockedByCloses.includes(accountId);
  }

  /** The accounts of which this node's spenders with a lower id have reserved credit. */
  accountsBelow(nodeId: string, below: SpenderId): readonly AccountId[] {
    return [...this.spenders].flatMap(([id, row]) =>
      row.nodeId === nodeId && id < below ? [...row.reserves.keys()] : [],
    );
  }

  listUnseen(nodeId: string, unseenMs: number): readonly UnseenSpender[] {
    return [...this.spenders].flatMap(([id, row]) =>
      row.nodeId !== nodeId && this.#nowMs() - row.seenMs > unseenMs
        ? [{ id, seenAt: new Date(row.seenMs) }]
        : [],
    );
  }

  release(spender: SpenderId): void {
    const row = this.spenders.get(spender);
    if (row === undefined) return;
    this.#close(spender, row);
  }

  /** Releases all spenders of a node. @returns what is free again, by account. */
  releaseAll(nodeId: string): ReadonlyMap<AccountId, bigint> {
    const released = new Map<AccountId, bigint>();
    for (const [id, row] of this.spenders) {
      if (row.nodeId !== nodeId) continue;
      for (const [accountId, { granted, charged }] of row.reserves)
        released.set(accountId, (released.get(accountId) ?? 0n) + granted - charged);
      this.#close(id, row);
    }
    return released;
  }

  releaseUnseen(spender: SpenderId, unseenMs: number): boolean {
    const row = this.spenders.get(spender);
    if (row === undefined || this.#nowMs() - row.seenMs <= unseenMs) return false;
    this.#close(spender, row);
    return true;
  }

  /** Inserts the entries of accounts that are not locked. @returns the others. */
  insertUnlocked(entries: readonly AuditEntry[]): readonly AuditEntry[] {
    const isLocked = ({ accountId }: AuditEntry) => this.isLocked(accountId);
    this.insertEntries(entries.filter((entry) => !isLocked(entry)));
    return entries.filter(isLocked);
  }

  /** @returns what was not paid. */
  insertEntries(entries: readonly AuditEntry[]): readonly Uncollected[] {
    const inserted = entries.filter(({ id }, index) => {
      const isThere = this.entries.has(id) && !this.#faults.has("entries are charged again");
      return !isThere && entries.findIndex((other) => other.id === id) === index;
    });
    for (const entry of inserted) this.entries.set(entry.id, entry);
    const won = this.#keepAnswers(inserted);
    const uncollected: Uncollected[] = [];
    const note = (accountId: AccountId, reason: Uncollected["reason"], amount: bigint) => {
      const known = uncollected.findIndex((sum) => sum.accountId === accountId && sum.reason === reason);
      const before = known < 0 ? 0n : (uncollected.splice(known, 1)[0]?.amountNanoUsd ?? 0n);
      if (before + amount > 0n) uncollected.push({ accountId, reason, amountNanoUsd: before + amount });
    };
    const charged = new Map<AccountId, bigint>();
    const due = new Map<
      string,
      { accountId: AccountId; spender: SpenderId | null; cost: bigint; repeated: bigint }
    >();
    for (const entry of inserted) {
      const { accountId, costNanoUsd: cost, implausibleNanoUsd = 0n, idempotency, spender = null } = entry;
      if (cost === 0n && implausibleNanoUsd === 0n) continue;
      const name = `${accountId} ${spender}`;
      const sum = due.get(name) ?? { accountId, spender, cost: 0n, repeated: 0n };
      sum.cost += cost;
      if (idempotency !== undefined && !won.has(entry.id)) {
        sum.repeated += cost;
        this.repeated.add(entry.id);
      }
      due.set(name, sum);
      note(accountId, "implausible", implausibleNanoUsd);
      charged.set(accountId, (charged.get(accountId) ?? 0n) + cost + implausibleNanoUsd);
    }
    const inOrder = [...due.values()].sort((a, b) => Number((a.spender ?? 0n) - (b.spender ?? 0n)));
    const shares = inOrder.map(({ accountId, spender, cost, repeated }) => {
      const row = spender === null ? undefined : this.spenders.get(spender)?.reserves.get(accountId);
      const used = min(cost, row === undefined ? 0n : row.granted - row.charged);
      const fromReserve = min(cost - repeated, used);
      if (row !== undefined) {
        row.charged += cost;
        row.granted += cost - used;
        this.#checked(row);
      }
      // What repeated answers have used is free again.
      if (!this.#faults.has("repeated answers stay reserved"))
        this.#setFree(accountId, (this.free.get(accountId) ?? 0n) + used - fromReserve);
      else if (row !== undefined) row.granted += used - fromReserve;
      return { accountId, row, repeated, missing: cost - repeated - fromReserve };
    });
    for (const { accountId, row, repeated, missing } of shares) {
      const free = this.free.get(accountId) ?? 0n;
      const fromFree = min(missing, free);
      this.#setFree(accountId, free - fromFree);
      note(accountId, "repeated", repeated);
      const short = missing - fromFree;
      note(accountId, row === undefined ? "released" : "beyond_hold", short);
    }
    for (const [accountId, amount] of charged) {
      this.ledger.push({ accountId, kind: "charge", amount: -amount, reason: "requests" });
    }
    for (const { accountId, reason, amountNanoUsd: amount } of uncollected) {
      this.ledger.push({ accountId, kind: "uncollected", amount, reason });
    }
    for (const entry of inserted) this.onInserted(entry);
    return uncollected;
  }

  /** The first attempt that is committed wins the key. @returns the entries that won. */
  #keepAnswers(inserted: readonly AuditEntry[]): ReadonlySet<EntryId> {
    const won = new Set<EntryId>();
    for (const { id, accountId, idempotency } of [...inserted].sort((a, b) => (a.id < b.id ? -1 : 1))) {
      if (idempotency === undefined) continue;
      if (this.#faults.has("answers commit apart") || this.idempotency.keep(accountId, idempotency))
        won.add(id);
    }
    return won;
  }

  #lapse(except: SpenderId): void {
    for (const [id, row] of this.spenders) {
      if (id !== except && this.#nowMs() - row.seenMs > LAPSE_MS) this.#close(id, row);
    }
  }

  #close(id: SpenderId, { reserves }: SpenderRow): void {
    for (const [accountId, reserve] of reserves) this.#free(id, accountId, reserve);
    this.spenders.delete(id);
  }

  #free(spender: SpenderId, accountId: AccountId, { granted, charged }: Reserve): void {
    this.spenders.get(spender)?.reserves.delete(accountId);
    this.#setFree(accountId, (this.free.get(accountId) ?? 0n) + granted - charged);
  }

  #setFree(accountId: AccountId, free: bigint): void {
    if (free < 0n) this.#refuse(`the free credit of ${accountId} would be ${free}`);
    this.free.set(accountId, free);
    this.onChange(accountId);
  }

  #checked(reserve: Reserve): Reserve {
    const { granted, charged } = reserve;
    if (charged < 0n || charged > granted) this.#refuse(`${charged} would be charged of ${granted}`);
    return reserve;
  }

  #refuse(what: string): never {
    this.onRefused(what);
    throw Object.assign(new Error(`check constraint: ${what}`), { code: "23514" });
  }
}

function min(one: bigint, other: bigint): bigint {
  return one - other < 0n ? one : other;
}

function max(one: bigint, other: bigint): bigint {
  return one - other > 0n ? one : other;
}
