import type { Journal, SegmentContent } from "../../../server/src/journal/journal.ts";
import { decodeLine, encodeLine, type JournalLine } from "../../../server/src/journal/journal-line.ts";
import { type AppendedLine, JournalWrite } from "../../../server/src/journal/journal-write.ts";
import type { Segment } from "../../../server/src/journal/segment-names.ts";
import { type Disk, writeDelay } from "../world/disk.ts";
import type { Life, World } from "../world/world.ts";

/** Full so soon, segments come and go in every run. The real ones hold megabytes. */
const SEGMENT_LINES = 16;

/** What the recorder needs of a {@link Journal}. */
export type JournalLike = Pick<
  Journal,
  "append" | "read" | "hold" | "release" | "segments" | "close" | "rejectedLines" | "pathOf"
>;

/**
 * A journal on a simulated disk: what was written survives a crash, what was not is lost. Between the write and the news of
 * it the process may die.
 */
export function openJournal(
  world: World,
  life: Life,
  disk: Disk,
): { readonly journal: Journal; readonly leftover: readonly Segment[] } {
  const leftover = disk.names;
  const journal: JournalLike = new SimulatedJournal(world, life, disk, (leftover.at(-1) ?? 0) + 1);
  // The class has private members, which no other object can be said to have. The recorder uses its public ones.
  return { journal: journal as Journal, leftover };
}

class SimulatedJournal implements JournalLike {
  readonly #world: World;
  readonly #life: Life;
  readonly #disk: Disk;
  #segment: Segment;
  /** Lines in the segment that is being written. */
  #lines = 0;
  readonly #unreleased = new Map<Segment, number>();
  /** Lines that are to be written together. */
  #next: JournalWrite | null = null;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(world: World, life: Life, disk: Disk, firstSegment: Segment) {
    this.#world = world;
    this.#life = life;
    this.#disk = disk;
    this.#segment = firstSegment;
  }

  get segments(): number {
    return this.#unreleased.size;
  }

  append(line: JournalLine): AppendedLine {
    if (this.#next === null) {
      const write = new JournalWrite();
      this.#next = write;
      this.#writing = this.#writing.then(() => this.#pause()).then(() => this.#perform(write));
    }
    this.#next.add(line);
    return this.#next;
  }

  async read(segment: Segment): Promise<SegmentContent> {
    await this.#pause();
    const lines = this.#disk.read(segment).map((text, index) => {
      const bytes = Buffer.from(text);
      return { number: index + 1, bytes, content: decodeLine(bytes) };
    });
    return { problem: null, lines, tornBytes: 0 };
  }

  rejectedLines(): number {
    return 0;
  }

  pathOf(segment: Segment): string {
    return `segment ${segment}`;
  }

  hold(segment: Segment, lines: number): void {
    this.#unreleased.set(segment, lines);
  }

  async release(segment: Segment, lines: number): Promise<void> {
    this.#unreleased.set(segment, (this.#unreleased.get(segment) ?? 0) - lines);
    this.#dropIfDone(segment);
  }

  async close(): Promise<void> {
    await this.#writing;
    this.#endSegment();
  }

  async #perform(write: JournalWrite): Promise<void> {
    this.#next = null;
    const lines = write.takeLines();
    const segment = this.#segment;
    try {
      this.#disk.append(
        segment,
        lines.map((line) => encodeLine(line).trimEnd()),
      );
    } catch (error) {
      await this.#pause();
      return write.refuse(error);
    }
    this.#unreleased.set(segment, (this.#unreleased.get(segment) ?? 0) + lines.length);
    this.#lines += lines.length;
    if (this.#lines >= SEGMENT_LINES) this.#endSegment();
    await this.#pause();
    write.accept(segment);
  }

  #endSegment(): void {
    this.#lines = 0;
    this.#dropIfDone(this.#segment++);
  }

  #dropIfDone(segment: Segment): void {
    if (segment === this.#segment || this.#unreleased.get(segment) !== 0) return;
    this.#unreleased.delete(segment);
    this.#disk.remove(segment);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#world.schedule(writeDelay(this.#world), this.#life, resolve);
    });
  }
}
