import type { AccountId } from "../../../server/src/contract/account.ts";
import type { IssuedKey } from "../stores/key-tables.ts";
import { Random } from "../world/random.ts";
import type { World } from "../world/world.ts";
import type { Attempt, Outcome, Wish } from "./facts.ts";
import type { SimulatedNode } from "./node.ts";
import { burstTimes, type Schedule } from "./schedule.ts";

/** Of the requests with idempotency keys so many are sent again though they were answered. */
const REPEATED = 0.3;
const MIN_PAUSE_MS = 300;
const MAX_PAUSE_MS = 3_000;
/** When a request is sent again though its answer may still come. */
const MIN_EARLY_RETRY_MS = 1_000;
const MAX_EARLY_RETRY_MS = 10_000;
/** Answers after which a client does not ask again: nothing would change. */
const FINAL_CODES = new Set([
  "credit_balance_exhausted",
  "revoked_api_key",
  "invalid_api_key",
  "idempotency_key_reused",
  "idempotent_answer_gone",
]);

export interface Accounts {
  readonly ids: readonly AccountId[];
  readonly keys: readonly (readonly IssuedKey[])[];
}

/** All requests of a schedule's bursts. */
export function wishesOf(schedule: Schedule, { ids, keys }: Accounts): readonly Wish[] {
  const times = burstTimes(schedule);
  const wishes: Wish[] = [];
  for (const [at, burst] of schedule.bursts.entries()) {
    const account = burst.account % ids.length;
    const accountId = ids[account];
    const keysThere = keys[account] ?? [];
    const key = keysThere[burst.key % keysThere.length];
    if (accountId === undefined || key === undefined) throw new Error("an account without keys");
    for (let sent = 0; sent < burst.requests; sent++) {
      const index = wishes.length;
      const random = new Random(burst.seed + sent);
      wishes.push({
        index,
        address: `10.${at % 256}.${sent % 256}.1`,
        accountId,
        key,
        node: burst.node % schedule.nodes,
        atMs: (times[at] ?? 0) + sent * burst.everyMs,
        maxTokens: burst.tokens,
        lastsMs: burst.lastsMs,
        isStreamed: burst.isStreamed,
        idempotencyKey: burst.isKeyed ? `key-${index}` : null,
        repeats: random.chance(REPEATED) ? 1 : 0,
        random,
        attempts: [],
        answers: 0,
      });
    }
  }
  return wishes;
}

export interface ClientParts {
  readonly world: World;
  readonly nodes: readonly SimulatedNode[];
  /** Whether a request with an idempotency key is sent again when its answer takes long, though it may still come. */
  readonly retriesEarly: boolean;
  /** Told of each attempt that reaches a node. */
  readonly onStarted: (attempt: Attempt) => void;
}

/** The clients: each sends its request, and one with an idempotency key sends it again until it is answered. */
export class Clients {
  readonly #parts: ClientParts;
  #waiting = 0;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** How many of them still have something to send. */
  get waiting(): number {
    return this.#waiting;
  }

  send(wish: Wish, delayMs: number): void {
    this.#waiting++;
    this.#parts.world.schedule(delayMs, null, () => this.#attempt(wish, wish.node));
  }

  /** Must be called when an attempt has ended for its client. */
  ended({ wish }: Attempt, outcome: Outcome): void {
    this.#waiting--;
    if (outcome.kind === "whole") wish.answers++;
    if (wish.idempotencyKey === null) return;
    if (outcome.kind === "refused" && FINAL_CODES.has(outcome.code)) return;
    if (wish.answers <= wish.repeats) this.#again(wish);
  }

  #again(wish: Wish): void {
    const { nodes } = this.#parts;
    const { random } = wish;
    this.#waiting++;
    this.#parts.world.schedule(random.between(MIN_PAUSE_MS, MAX_PAUSE_MS), null, () => {
      this.#attempt(wish, random.below(nodes.length));
    });
  }

  #attempt(wish: Wish, at: number): void {
    const { world, nodes, retriesEarly, onStarted } = this.#parts;
    const node = nodes[at];
    const attempt: Attempt = {
      wish,
      startedMs: world.nowMs,
      endedMs: null,
      outcome: null,
      requestId: null,
      askedMs: null,
      answeredMs: null,
    };
    wish.attempts.push(attempt);
    if (node?.handle(attempt) === true) {
      onStarted(attempt);
      if (retriesEarly && wish.idempotencyKey !== null)
        world.schedule(wish.random.between(MIN_EARLY_RETRY_MS, MAX_EARLY_RETRY_MS), null, () => {
          if (attempt.endedMs === null) this.#again(wish);
        });
      return;
    }
    // Nothing listens there: it has not reached the service.
    wish.attempts.pop();
    this.#waiting--;
    if (wish.idempotencyKey !== null) this.#again(wish);
  }
}
