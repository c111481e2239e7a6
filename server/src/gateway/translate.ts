import type { AnswerEvent } from "../conversation/answer.ts";
import type { AnswerHead, AnswerWriter, WireRequest } from "../conversation/wire.ts";
import { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import { type ConversationAnswer, type WireAnswer, withUsage } from "../upstream/dialect.ts";
import { TransportError } from "../upstream/transport.ts";

interface Translation {
  readonly request: WireRequest;
  readonly head: AnswerHead;
  /** Counts the tokens of a request whose upstream does not. */
  readonly estimate: (produced: TextTally) => Promise<Usage>;
  /** The number of the request's images that the upstream got. Absent: all. */
  readonly images?: number;
}

/** Writes an upstream's answer in the format of its client. A stream is written event by event. */
export async function translated(
  answer: ConversationAnswer,
  { request, head, estimate, images }: Translation,
): Promise<WireAnswer> {
  const writer = await request.writer(head);
  const tracker = new AnswerTracker(writer);
  const stored = writer.stored?.bind(writer);
  if (request.stream) {
    return {
      kind: "stream",
      events: tracker.streamOf(answer.events),
      last: (usage, changes) => writer.last(usage, changes),
      controlEvents: writer,
      usage: () => tracker.usage,
      usageSoFar: () => tracker.usageSoFar,
      produced: () => tracker.produced,
      ignored: () => answer.ignored,
      ...(images === undefined ? {} : { images }),
      ...(stored && { stored }),
    };
  }
  for await (const { events } of answer.events) tracker.write(events);
  tracker.requireFinish();
  const { usage, produced } = tracker;
  const writtenUsage = usage ?? (await estimate(produced));
  return {
    kind: "whole",
    body: wholeText(writer, writtenUsage, usage),
    usage,
    ...(usage === null && { counted: writtenUsage }),
    produced: () => produced,
    ignored: answer.ignored,
    ...(images === undefined ? {} : { images }),
    ...(stored && { stored: () => stored(writtenUsage) }),
  };
}

/** @param reported The usage that the upstream has reported. @throws {UpstreamRefused} with this usage for an answer that can't be written. */
function wholeText(writer: AnswerWriter, usage: Usage, reported: Usage | null): string {
  try {
    return writer.whole(usage);
  } catch (error) {
    throw withUsage(error, reported);
  }
}

/** Writes the events of an answer, and notes what they say of usage and text. */
class AnswerTracker {
  readonly produced = new TextTally();
  usage: Usage | null = null;
  usageSoFar: Usage | null = null;
  #isFinished = false;
  readonly #writer: AnswerWriter;

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  /** The beginning is sent together with the first event, because a request whose upstream fails before may be retried. */
  async *streamOf(pieces: ConversationAnswer["events"]): AsyncGenerator<string> {
    let beginning: string | null = null;
    for await (const { events, usageSoFar } of pieces) {
      this.usageSoFar = usageSoFar;
      if (events.length === 0) continue;
      beginning ??= this.#writer.begin();
      const text = beginning + this.write(events);
      beginning = "";
      if (text !== "") yield text;
    }
    this.requireFinish();
  }

  write(events: readonly AnswerEvent[]): string {
    let text = "";
    for (const event of events) {
      if (event.kind === "finish") {
        this.usage = event.usage;
        this.#isFinished = true;
      } else if (event.kind === "call") {
        this.produced.add(event.name);
      } else if ("text" in event) {
        this.produced.add(event.text);
      }
      text += this.#writer.write(event);
    }
    return text;
  }

  requireFinish(): void {
    if (!this.#isFinished) throw new TransportError("cut", "the upstream's stream ended without a finish");
  }
}
