import type { Upstream } from "../catalog/catalog.ts";
import type { UpstreamCall } from "./dialect.ts";
import { isRefusalAbout } from "./refusal.ts";

/** Sends requests in another form to models whose upstream has refused the usual one, which only the upstream knows. */
export class RefusedForms {
  readonly #words: RegExp;
  readonly #refused = new WeakMap<Upstream, Set<string>>();

  /** @param words The words by which upstreams refuse the usual form. */
  constructor(words: RegExp) {
    this.#words = words;
  }

  /** Whether the model's upstream has refused the usual form. */
  isRefused({ upstream, upstreamModel }: UpstreamCall): boolean {
    return this.#refused.get(upstream)?.has(upstreamModel) === true;
  }

  /**
   * Sends a request in its usual form, and once more in the other if the upstream refuses that. What differs must be the service's own: an
   * account must not make the upstream refuse the usual form of others' requests.
   *
   * @throws what `send` throws.
   */
  async ask<Answer>(call: UpstreamCall, send: (isRefused: boolean) => Promise<Answer>): Promise<Answer> {
    if (this.isRefused(call)) return await send(true);
    try {
      return await send(false);
    } catch (thrown) {
      if (!isRefusalAbout(this.#words, thrown)) throw thrown;
      const answer = await send(true);
      const { upstream, upstreamModel } = call;
      const models = this.#refused.get(upstream) ?? new Set<string>();
      this.#refused.set(upstream, models.add(upstreamModel));
      return answer;
    }
  }
}
