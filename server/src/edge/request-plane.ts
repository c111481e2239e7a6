import { InFlight } from "../admission/in-flight.ts";
import type { Exchange } from "./exchange.ts";
import { Passage, type PassageParts } from "./passage.ts";
import { namesOf } from "./routing.ts";

/** Everything under `/v1` and `/dashboard`: identify the caller, answer, record, and only then end the answer. */
export class RequestPlane {
  readonly #parts: PassageParts;
  readonly #passages = new InFlight<Passage>();
  #withoutKnownKey = 0;
  /** Who waits for all of them to be over. */
  readonly #waiting: (() => void)[] = [];

  constructor(parts: PassageParts) {
    this.#parts = parts;
  }

  /** Requests so far that were refused and showed no key that is or was somebody's. */
  get withoutKnownKey(): number {
    return this.#withoutKnownKey;
  }

  /** What audit entries name requests by that are served. */
  get endpointNames(): readonly string[] {
    return namesOf(this.#parts.endpoints);
  }

  /** Requests that are being answered. */
  get inFlight(): number {
    return this.#passages.size;
  }

  /** Gives a sign of life on streams that have been silent for long. To be called every few seconds. */
  beat(): void {
    for (const passage of this.#passages) passage.beat();
  }

  /** Resolves when nothing is being answered, also for clients that have left. */
  async idle(): Promise<void> {
    if (this.#passages.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** Ends what is still being answered: its clients are told, as far as they can be, and it is recorded. */
  cutOff(): void {
    for (const passage of this.#passages) passage.cutOff();
  }

  /** Answers one request, whatever comes. Never rejects. */
  async handle(exchange: Exchange): Promise<void> {
    const passage = new Passage(this.#parts, exchange);
    this.#passages.add(passage);
    try {
      await passage.answer();
    } catch (thrown) {
      await passage.fail(thrown);
    } finally {
      await passage.leave();
      if (passage.isWithoutKnownKey) this.#withoutKnownKey++;
      this.#passages.delete(passage);
      if (this.#passages.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }
}
