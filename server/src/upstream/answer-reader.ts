import type { AnswerEvent } from "../conversation/answer.ts";

/** Reads an answer in a provider's format, piece by piece, and collects its events. */
export abstract class AnswerReader {
  #events: AnswerEvent[] = [];
  #isOver = false;

  /** Whether the `finish` was found: what a stream has after it is not read. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Reads the data of one event of a stream. @throws {UpstreamRefused} for a failure or what is malformed. */
  abstract read(text: string): void;

  /** The events of what was read since they were taken last. */
  takeEvents(): readonly AnswerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  protected found(event: AnswerEvent): void {
    this.#events.push(event);
    this.#isOver ||= event.kind === "finish";
  }
}

/** The events of a stream, whose data comes in lists: those of a list together, also when a later piece of it can't be read. */
export async function* eventsRead(
  data: AsyncIterable<readonly string[]>,
  reader: AnswerReader,
): AsyncGenerator<readonly AnswerEvent[]> {
  for await (const list of data) {
    try {
      for (const text of list) {
        reader.read(text);
        if (reader.isOver) break;
      }
    } catch (error) {
      yield reader.takeEvents();
      throw error;
    }
    yield reader.takeEvents();
    if (reader.isOver) return;
  }
}
