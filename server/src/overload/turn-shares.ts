import type { AccountId } from "../contract/account.ts";

/** About how long the requests that an account begins in a turn of the event loop may take together. A single request may take longer. */
const SHARE_MS = 2;
/** The share of each account while a long backlog waits. It is larger because a turn itself takes time, however little is done in it. */
const LONG_SHARE_MS = 8;
/** A request counts as one more small request per this many bytes: reading and forwarding them takes about as long as the rest of a request. */
const BYTES_OF_SMALL_REQUEST = 8_192;
/** The weight of earlier turns in the average of what a small request takes. */
const AVERAGE_WEIGHT = 0.8;
/** What a small request takes before one was measured, and the limits within which a measurement is believed: a turn may do other work, too. */
const FIRST_REQUEST_MS = 0.2;
const MIN_REQUEST_MS = 0.03;
const MAX_REQUEST_MS = 1;

interface WaitingRequest {
  /** The number of small requests that the request counts as. */
  readonly size: number;
  readonly sinceMs: number;
  readonly begin: () => void;
}

/** The requests of an account that wait, in the order of their arrival. */
interface Queue {
  readonly requests: WaitingRequest[];
  /** The sum of the sizes of its requests that were resumed. The queue with the least is resumed first. */
  used: number;
}

/**
 * Shares the turns of the event loop between accounts. When an account has begun its share of requests in a turn, its further requests wait for later
 * turns. Waiting requests are resumed fairly, weighted by size. So an account that sends little does not wait until all requests of another account are
 * parsed, however many or large they are.
 */
export class TurnShares {
  readonly #monotonicMs: () => number;
  readonly #atEndOfTurn: (run: () => void) => void;
  /** When the first request of the present turn began; `null` between turns. */
  #beganMs: number | null = null;
  /** The sizes of the requests that began in the present turn, by account, of all, and of those that had waited. */
  readonly #begun = new Map<AccountId, number>();
  #begunSize = 0;
  #resumedSize = 0;
  /**
   * By how much earlier turns exceeded their shares. Later turns make up for it before they resume waiting requests. Requests that begin without
   * waiting count only while nothing waits. Otherwise accounts that send all the time would keep the waiting requests from being resumed.
   */
  #excess = 0;
  /** When the request that has waited longest began to wait. */
  #firstSinceMs = 0;
  /** The accounts with requests that wait. */
  readonly #queues = new Map<AccountId, Queue>();
  #waiting = 0;
  /** The `used` of the queue that was resumed last. New queues begin with it, so that an account that was idle has not saved up a larger share. */
  #used = 0;
  /** Whether turns may take longer, because a long backlog waits or the process is overloaded. {@link Overload} sets it. */
  mayTurnsBeLong = false;
  /** The time that a small request takes, on average. */
  #requestMs = FIRST_REQUEST_MS;

  /** @param atEndOfTurn calls a function when the callbacks that are ready in the present turn have run. */
  constructor(monotonicMs: () => number, atEndOfTurn: (run: () => void) => void) {
    this.#monotonicMs = monotonicMs;
    this.#atEndOfTurn = atEndOfTurn;
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The number of an account's requests that wait. */
  waitingOf(account: AccountId): number {
    return this.#queues.get(account)?.requests.length ?? 0;
  }

  /** How long the request that has waited longest has waited; 0 if none waits. */
  get waitedMs(): number {
    return this.#waiting === 0 ? 0 : this.#monotonicMs() - this.#firstSinceMs;
  }

  /**
   * Begins a request whose body has this many bytes. Returns a promise of its turn if it has to wait, otherwise `null`. Each wait ends: the requests
   * before it begin in a bounded number of turns.
   */
  begin(account: AccountId, bytes: number): Promise<void> | null {
    if (this.#beganMs === null) this.#beginTurn();
    const size = 1 + bytes / BYTES_OF_SMALL_REQUEST;
    const queue = this.#queues.get(account);
    const begun = this.#begun.get(account) ?? 0;
    if (queue === undefined && (begun === 0 || begun + size <= this.#share)) {
      this.#count(account, size);
      if (this.#waiting === 0) this.#excess = Math.max(this.#excess, size);
      return null;
    }
    return new Promise((begin) => {
      const waiting = { size, sinceMs: this.#monotonicMs(), begin };
      if (this.#waiting === 0) this.#firstSinceMs = waiting.sinceMs;
      if (queue === undefined) this.#queues.set(account, { requests: [waiting], used: this.#used });
      else queue.requests.push(waiting);
      this.#waiting++;
    });
  }

  /** How many small requests an account may begin in a turn. */
  get #share(): number {
    return (this.mayTurnsBeLong ? LONG_SHARE_MS : SHARE_MS) / this.#requestMs;
  }

  #count(account: AccountId, size: number): void {
    this.#begun.set(account, (this.#begun.get(account) ?? 0) + size);
    this.#begunSize += size;
  }

  #beginTurn(): void {
    this.#beganMs = this.#monotonicMs();
    this.#begun.clear();
    this.#begunSize = 0;
    this.#resumedSize = 0;
    this.#atEndOfTurn(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#measure();
    this.#excess = Math.max(0, this.#excess + this.#resumedSize - this.#share);
    this.#beganMs = null;
    if (this.#waiting === 0) return;
    this.#beginTurn();
    // The resumed requests run when this function has returned, so how long they take is an estimate.
    while (this.#waiting > 0 && this.#excess + this.#resumedSize < this.#share) this.#resumeNext();
    this.#firstSinceMs = this.#monotonicMs();
    for (const { requests } of this.#queues.values())
      this.#firstSinceMs = Math.min(this.#firstSinceMs, requests[0]?.sinceMs ?? this.#firstSinceMs);
  }

  #measure(): void {
    if (this.#begunSize === 0) return;
    const eachMs = (this.#monotonicMs() - (this.#beganMs ?? 0)) / this.#begunSize;
    const believedMs = Math.min(Math.max(eachMs, MIN_REQUEST_MS), MAX_REQUEST_MS);
    this.#requestMs = this.#requestMs * AVERAGE_WEIGHT + believedMs * (1 - AVERAGE_WEIGHT);
  }

  #resumeNext(): void {
    let next: readonly [AccountId, Queue] | null = null;
    for (const each of this.#queues) if (next === null || each[1].used < next[1].used) next = each;
    const first = next?.[1].requests.shift();
    if (next === null || first === undefined) return;
    const [account, queue] = next;
    this.#used = queue.used;
    queue.used += first.size;
    if (queue.requests.length === 0) this.#queues.delete(account);
    this.#waiting--;
    this.#count(account, first.size);
    this.#resumedSize += first.size;
    first.begin();
  }
}
