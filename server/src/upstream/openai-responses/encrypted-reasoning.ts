import type { Upstream } from "../../catalog/catalog.ts";
import type { UpstreamCall } from "../dialect.ts";
import { isRefusalAbout } from "../refusal.ts";

/** Words by which an upstream refuses encrypted reasoning for a model that does not reason. */
const ABOUT_ENCRYPTED = /encrypted.content|\binclude\b/i;

/** Asks for encrypted reasoning, except for models whose upstream has refused it. */
export class EncryptedReasoning {
  readonly #refused = new WeakMap<Upstream, Set<string>>();

  /**
   * Sends a request, and once more without asking for encrypted reasoning if the upstream refuses that.
   *
   * @throws what `send` throws.
   */
  async ask<Answer>(
    { upstream, upstreamModel }: UpstreamCall,
    send: (isAsked: boolean) => Promise<Answer>,
  ): Promise<Answer> {
    if (this.#refused.get(upstream)?.has(upstreamModel) === true) return await send(false);
    try {
      return await send(true);
    } catch (thrown) {
      if (!isRefusalAbout(ABOUT_ENCRYPTED, thrown)) throw thrown;
      const answer = await send(false);
      const models = this.#refused.get(upstream) ?? new Set<string>();
      this.#refused.set(upstream, models.add(upstreamModel));
      return answer;
    }
  }
}
