import type { Upstream } from "../catalog/catalog.ts";
import type { UpstreamCall } from "./dialect.ts";
import { isRefusalAbout } from "./refusal.ts";

/** An upstream may be mended, and a request of one account may have been refused for something else than its form. */
const KEPT_MS = 5 * 60_000;

/**
 * Remembers for some minutes the models whose upstream refuses the usual form of requests, which only the upstream knows. What differs in the
 * other form must be the service's own: an account must not change others' requests.
 */
export class RefusedForms {
  /** The words by which upstreams refuse the usual form. */
  readonly words: RegExp;
  readonly #monotonicMs: () => number;
  /** By model, until when. */
  readonly #refused = new WeakMap<Upstream, Map<string, number>>();

  constructor(words: RegExp, monotonicMs: () => number) {
    this.words = words;
    this.#monotonicMs = monotonicMs;
  }

  /** Whether the usual form is to be sent to a model. */
  isUsual({ upstream, upstreamModel }: UpstreamCall): boolean {
    return this.#monotonicMs() >= (this.#refused.get(upstream)?.get(upstreamModel) ?? 0);
  }

  /** Remembers that a model's upstream takes the other form of a request whose usual one it has refused. */
  remember({ upstream, upstreamModel }: UpstreamCall): void {
    const models = this.#refused.get(upstream) ?? new Map<string, number>();
    this.#refused.set(upstream, models.set(upstreamModel, this.#monotonicMs() + KEPT_MS));
  }

  /**
   * Sends a request in its usual form, and once more in the other if the upstream refuses that.
   *
   * @param isTelling Whether a refusal of this request tells something of others.
   * @throws what `send` throws.
   */
  async ask<Answer>(
    call: UpstreamCall,
    send: (isUsual: boolean) => Promise<Answer>,
    isTelling = true,
  ): Promise<Answer> {
    if (!this.isUsual(call)) return await send(false);
    try {
      return await send(true);
    } catch (thrown) {
      if (!isRefusalAbout(this.words, thrown)) throw thrown;
      const answer = await send(false);
      if (isTelling) this.remember(call);
      return answer;
    }
  }
}
