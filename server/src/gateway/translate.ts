import type { AnswerEvent } from "../conversation/answer.ts";
import type { AnswerHead, AnswerWriter, WireRequest } from "../conversation/wire.ts";
import { TextTally } from "../tokens/text-tally.ts";
import type { Usage } from "../tokens/token-estimate.ts";
import type { ConversationAnswer, StreamedAnswer, WireAnswer } from "../upstream/dialect.ts";
import { TransportError } from "../upstream/transport.ts";

export interface Translation {
  readonly request: WireRequest;
  readonly head: AnswerHead;
  /** Counts the tokens of a request whose upstream does not. */
  readonly estimate: (produced: TextTally) => Promise<Usage>;
}

/** Writes an upstream's answer in the format of its client. A stream is written event by event. */
export async function translated(
  answer: ConversationAnswer,
  { request, head, estimate }: Translation,
): Promise<WireAnswer> {
  const writer = await request.writer(head);
  const tracker = new AnswerTracker(writer);
  if (request.stream) {
    return {
      kind: "stream",
      events: tracker.streamOf(answer.events),
      last: (usage, changes) => writer.last(usage, changes),
      signs: writer,
      usage: () => tracker.usage,
      produced: () => tracker.produced,
      ignored: answer.ignored,
      ...storedBy(writer),
    };
  }
  for await (const events of answer.events) tracker.write(events);
  tracker.requireFinish();
  const { usage, produced } = tracker;
  const told = usage ?? (writer.needsUsage ? await estimate(produced) : null);
  return {
    kind: "whole",
    body: writer.whole(told),
    usage,
    produced: () => produced,
    ignored: answer.ignored(),
    ...(writer.stored === undefined || told === null ? {} : { stored: () => storedText(writer, told) }),
  };
}

function storedBy(writer: AnswerWriter): Pick<StreamedAnswer, "stored"> {
  return writer.stored === undefined ? {} : { stored: (usage) => storedText(writer, usage) };
}

function storedText(writer: AnswerWriter, usage: Usage): string {
  return writer.stored?.(usage) ?? writer.whole(usage);
}

/** Writes the events of an answer, and notes what they say of usage and text. */
class AnswerTracker {
  readonly produced = new TextTally();
  usage: Usage | null = null;
  #isFinished = false;
  readonly #writer: AnswerWriter;

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  /** The beginning is sent together with the first event, because a request whose upstream fails before may be retried. */
  async *streamOf(events: ConversationAnswer["events"]): AsyncGenerator<string> {
    let beginning: string | null = null;
    for await (const together of events) {
      if (together.length === 0) continue;
      beginning ??= this.#writer.begin();
      const text = beginning + this.write(together);
      beginning = "";
      if (text !== "") yield text;
    }
    this.requireFinish();
  }

  write(events: readonly AnswerEvent[]): string {
    let text = "";
    for (const event of events) text += this.#write(event);
    return text;
  }

  #write(event: AnswerEvent): string {
    if (event.kind === "finish") {
      this.usage = event.usage;
      this.#isFinished = true;
    } else if (event.kind === "call") {
      this.produced.add(event.name);
    } else if ("text" in event) {
      this.produced.add(event.text);
    }
    return this.#writer.write(event);
  }

  requireFinish(): void {
    if (!this.#isFinished) throw new TransportError("cut", "the upstream's stream ended without a finish");
  }
}
