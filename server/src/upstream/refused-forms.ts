import type { Upstream } from "../catalog/catalog.ts";
import { dropOldest } from "../resources/make-room.ts";
import type { UpstreamCall } from "./dialect.ts";
import { isQuotation, isRefusalAbout } from "./refusal.ts";

/**
 * How long a refusal is remembered. The upstream may be corrected, and the reason of the refusal may have been another one than the form.
 */
const KEPT_MS = 5 * 60_000;
/** The maximum number of refused forms that are remembered for an upstream. The oldest are forgotten. */
const MAX_KEPT = 1_000;

/** A request that has a usual and another form. */
interface FormAttempt<Answer> {
  /** Sends the request in one of its forms. */
  readonly send: (form: "usual" | "other") => Promise<Answer>;
  /** What the client has written. A refusal may quote it. */
  readonly clientText: () => string;
  /** As the parameter of {@link RefusedForms.isUsual}. */
  readonly kind?: string;
  /** The words of a refusal after which the other form is tried. Absent: the words whose refusals are remembered. */
  readonly retriedAfter?: RegExp;
}

/**
 * Remembers for some minutes the models whose upstream refuses the usual form of requests, which only the upstream knows. What differs in the
 * other form must be the service's own: an account must not change others' requests.
 */
export class RefusedForms {
  /** The words by which upstreams refuse the usual form. A refusal with other words is not remembered. */
  readonly #words: RegExp;
  readonly #monotonicMs: () => number;
  /** Until when the usual form counts as refused, by upstream, and there by model and kind of request. */
  readonly #refused = new WeakMap<Upstream, Map<string, number>>();

  constructor(words: RegExp, monotonicMs: () => number) {
    this.#words = words;
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Whether the usual form is to be sent to a model.
   *
   * @param kind names the requests that are refused alike, where a model refuses only some.
   */
  isUsual({ upstream, upstreamModel }: UpstreamCall, kind = ""): boolean {
    return this.#monotonicMs() >= (this.#refused.get(upstream)?.get(keyOf(upstreamModel, kind)) ?? 0);
  }

  /** Remembers that a model's upstream takes the other form of a request whose usual one it has refused. */
  remember({ upstream, upstreamModel }: UpstreamCall, kind = ""): void {
    const refused = this.#refused.get(upstream) ?? new Map<string, number>();
    const key = keyOf(upstreamModel, kind);
    // It becomes the latest, because the one that was set first is forgotten first.
    refused.delete(key);
    dropOldest(refused, MAX_KEPT);
    refused.set(key, this.#monotonicMs() + KEPT_MS);
    this.#refused.set(upstream, refused);
  }

  /** Forgets a refusal that a later one contradicts. */
  forget({ upstream, upstreamModel }: UpstreamCall): void {
    this.#refused.get(upstream)?.delete(keyOf(upstreamModel, ""));
  }

  /**
   * Sends a request in its usual form, and once more in the other if the upstream refuses that.
   *
   * @throws what `send` throws.
   */
  async ask<Answer>(call: UpstreamCall, attempt: FormAttempt<Answer>): Promise<Answer> {
    const { send, clientText, kind, retriedAfter = this.#words } = attempt;
    if (!this.isUsual(call, kind)) return await send("other");
    try {
      return await send("usual");
    } catch (thrown) {
      if (!isRefusalAbout(retriedAfter, thrown)) throw thrown;
      const answer = await send("other");
      const isRemembered =
        isRefusalAbout(this.#words, thrown) && !isQuotation(this.#words, thrown, clientText());
      if (isRemembered) this.remember(call, kind);
      return answer;
    }
  }
}

function keyOf(model: string, kind: string): string {
  return `${model}\n${kind}`;
}
