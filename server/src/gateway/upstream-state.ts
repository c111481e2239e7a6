import type { Upstream } from "../catalog/catalog.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import type { BreakerState } from "./breaker.ts";
import { Slots } from "./slots.ts";
import { UpstreamBreaker } from "./upstream-breaker.ts";

/** The state of an upstream as this node has observed it. */
export interface UpstreamHealth {
  /** The name of the upstream in the catalog. */
  readonly name: string;
  /** The circuit breaker. `closed`: healthy; `open`: no requests are sent; `half-open`: one request tests the upstream. */
  readonly breaker: BreakerState;
  /** Requests that the upstream is answering. */
  readonly inFlight: number;
  /** Requests that wait for a concurrency slot. */
  readonly waiting: number;
  /** Requests that succeeded since this node was started. */
  readonly successes: number;
  /** Requests that failed since this node was started. */
  readonly failures: number;
  /** The last failure; `null`: none since this node was started. */
  readonly lastFailure: {
    /** When the request failed. */
    readonly at: Date;
    /** Why it failed. */
    readonly reason: string;
  } | null;
  /**
   * Tokens of failed requests that the upstream has reported since this node was started and that no account is charged for, because
   * another attempt followed or nothing was answered. The provider may charge the operator for them.
   */
  readonly unbilledTokens: number;
  /** When the upstream last refused the service's credential; `null` if it accepted it since, or never refused it. */
  readonly credentialRefusedAt: Date | null;
}

const MAX_WAITING = 128;
const WAIT_TIMEOUT_MS = 2_000;

/** The breaker, slots and counts of one upstream on this node. */
export class UpstreamState {
  readonly name: string;
  /** Whether it is the sandbox, which fails only when a client asks for a failure. */
  readonly isSimulated: boolean;
  readonly breaker: UpstreamBreaker;
  readonly slots: Slots;
  #description: Upstream;
  #successes = 0;
  #failures = 0;
  #unbilledTokens = 0;
  #lastFailure: UpstreamHealth["lastFailure"] = null;
  #credentialRefusedAt: Date | null = null;

  constructor(description: Upstream, monotonicMs: () => number) {
    const { name, isSandbox, maxConcurrency, breaker } = description;
    this.#description = description;
    this.name = name;
    this.isSimulated = isSandbox;
    this.breaker = new UpstreamBreaker(breaker, monotonicMs);
    this.slots = new Slots(maxConcurrency, MAX_WAITING, WAIT_TIMEOUT_MS, monotonicMs);
  }

  /**
   * Call it with each new description of the catalog. If it differs from the former one, such as by a corrected credential, failures before it say
   * nothing about the upstream: the next request tests it.
   */
  describe(description: Upstream): void {
    const former = this.#description;
    this.#description = description;
    if (isSameDescription(former, description)) return;
    this.#credentialRefusedAt = null;
    this.breaker.probe();
  }

  succeeded(): void {
    this.#successes++;
    this.#credentialRefusedAt = null;
  }

  failed(reason: string, at: Date): void {
    this.#failures++;
    this.#lastFailure = { at, reason };
  }

  /** Counts the usage of a failed attempt that no entry records. */
  countUnbilled({ promptTokens, completionTokens }: Usage): void {
    this.#unbilledTokens += promptTokens + completionTokens;
  }

  refusedCredential(at: Date): void {
    this.#credentialRefusedAt = at;
  }

  health(): UpstreamHealth {
    return {
      name: this.name,
      breaker: this.breaker.state,
      inFlight: this.slots.taken,
      waiting: this.slots.waiting,
      successes: this.#successes,
      failures: this.#failures,
      unbilledTokens: this.#unbilledTokens,
      lastFailure: this.#lastFailure,
      credentialRefusedAt: this.#credentialRefusedAt,
    };
  }
}

/** Whether two descriptions are equal. JSON does not have the values of credentials. */
function isSameDescription(one: Upstream, other: Upstream): boolean {
  const hasSameCredential = one.credential?.equals(other.credential) ?? other.credential === null;
  return hasSameCredential && JSON.stringify(one) === JSON.stringify(other);
}
