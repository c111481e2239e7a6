import type { Exchange } from "./exchange.ts";
import { Passage, type PassageParts } from "./passage.ts";

/** Everything under `/v1` and `/dashboard`: identify the caller, answer, record, and only then end the answer. */
export class RequestPlane {
  readonly #parts: PassageParts;
  readonly #passages = new Set<Passage>();

  constructor(parts: PassageParts) {
    this.#parts = parts;
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
    while (this.#passages.size > 0) await Promise.all([...this.#passages].map(({ left }) => left));
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
      this.#passages.delete(passage);
    }
  }
}
