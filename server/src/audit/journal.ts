import { writeSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type AuditEntry, decodeEntry, encodeEntry } from "./entry.ts";

/** A line of the journal: a request that has ended, or one that has only begun, as it stands if its process dies. */
export type JournalLine =
  | { readonly kind: "ended"; readonly entry: AuditEntry }
  | { readonly kind: "begun"; readonly entry: AuditEntry };

const SEGMENT_NAME = /^(\d{12})\.ndjson$/;
const SEGMENT_BYTES = 4 * 1024 * 1024;
const SEGMENT_MS = 60 * 60_000;

/** What a line of a request that has only begun begins with. */
const BEGUN = "begun ";

/** A journal's file, numbered in the order of writing. */
export type Segment = number;

export interface JournalOptions {
  /** Made if absent. */
  readonly folder: string;
  /** Whether an entry must have reached the disk (`true`) or only the operating system. */
  readonly sync: boolean;
}

/**
 * The node's local write-ahead file of audit entries: append-only segments, one line a request that begins or
 * ends. What was appended survives the process. Lines that come together share one write.
 */
export class Journal {
  readonly #folder: string;
  readonly #sync: boolean;
  #segment: Segment;
  #file: FileHandle | null = null;
  #bytes = 0;
  #openedMs = 0;
  /** Lines of a segment that are in this file and nowhere else yet. Counted as they are written, before anybody knows. */
  readonly #unreleased = new Map<Segment, number>();
  /** Lines that are to be written together, and what becomes of them. */
  #waiting: JournalLine[] = [];
  #written: Promise<Segment> = Promise.resolve(0);
  /** Ends with whatever was to be written last, well or not. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: JournalOptions, firstSegment: Segment) {
    this.#folder = options.folder;
    this.#sync = options.sync;
    this.#segment = firstSegment;
  }

  /** Opens the journal. New entries go to a new segment; those left by the last process are for {@link replay}. */
  static async open(options: JournalOptions): Promise<{ journal: Journal; leftover: readonly Segment[] }> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const leftover = (await readdir(options.folder))
      .flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
    return { journal: new Journal(options, (leftover.at(-1) ?? 0) + 1), leftover };
  }

  /** Resolves with the segment once the line would survive this process. */
  append(line: JournalLine): Promise<Segment> {
    // All that comes in one turn of the event loop is one write.
    if (this.#waiting.length === 0) {
      this.#written = this.#writing.then(() => setImmediate()).then(() => this.#writeWaiting());
      this.#writing = this.#written.then(
        () => this.#endIfFull(),
        // The segment may end in half a line now: nothing more goes into it.
        () => this.#endSegment().catch(NOTHING),
      );
    }
    this.#waiting.push(line);
    return this.#written;
  }

  /** The lines of a segment. A torn last one, of a request that never ended for its client, is dropped. */
  async read(segment: Segment): Promise<readonly JournalLine[]> {
    const lines = (await readFile(this.#path(segment), "utf8")).split("\n");
    // What follows the last newline is empty, or was torn by a crash.
    return lines
      .slice(0, -1)
      .map((line) =>
        line.startsWith(BEGUN)
          ? { kind: "begun", entry: decodeEntry(line.slice(BEGUN.length)) }
          : { kind: "ended", entry: decodeEntry(line) },
      );
  }

  /** Deletes a segment that a former process left. */
  async drop(segment: Segment): Promise<void> {
    await unlink(this.#path(segment));
  }

  /** Says that so many lines of a segment are needed no more. A full segment goes when none of its lines is. */
  async release(segment: Segment, lines: number): Promise<void> {
    this.#unreleased.set(segment, (this.#unreleased.get(segment) ?? 0) - lines);
    await this.#dropIfDone(segment);
  }

  /** How many files are still needed. */
  get segments(): number {
    return this.#unreleased.size;
  }

  /** Ends the segment that is being written. */
  async close(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#endSegment());
    await this.#writing;
  }

  async #writeWaiting(): Promise<Segment> {
    const batch = this.#waiting;
    this.#waiting = [];
    if (this.#file === null) {
      this.#file = await open(this.#path(this.#segment), "a", 0o600);
      this.#openedMs = performance.now();
    }
    const bytes = Buffer.from(batch.map(encodeLine).join(""));
    writeWhole(this.#file, bytes);
    if (this.#sync) await this.#file.datasync();
    this.#bytes += bytes.length;
    this.#unreleased.set(this.#segment, (this.#unreleased.get(this.#segment) ?? 0) + batch.length);
    return this.#segment;
  }

  async #endIfFull(): Promise<void> {
    const isFull = this.#bytes >= SEGMENT_BYTES || performance.now() - this.#openedMs > SEGMENT_MS;
    // A file that can't be closed or deleted is no matter of the entries that are in it.
    if (isFull) await this.#endSegment().catch(NOTHING);
  }

  async #endSegment(): Promise<void> {
    if (this.#file === null) return;
    const file = this.#file;
    const ended = this.#segment;
    this.#file = null;
    this.#bytes = 0;
    this.#segment++;
    await file.close();
    await this.#dropIfDone(ended);
  }

  async #dropIfDone(segment: Segment): Promise<void> {
    if (segment === this.#segment || this.#unreleased.get(segment) !== 0) return;
    this.#unreleased.delete(segment);
    await unlink(this.#path(segment));
  }

  #path(segment: Segment): string {
    return join(this.#folder, `${String(segment).padStart(12, "0")}.ndjson`);
  }
}

/**
 * At once: to hand some hundred bytes to the operating system takes less than to ask another thread to, who would take a core
 * from whoever answers the request meanwhile. What has to reach the disk is waited for elsewhere.
 */
function writeWhole(file: FileHandle, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(file.fd, bytes, written);
}

function encodeLine({ kind, entry }: JournalLine): string {
  return `${kind === "begun" ? BEGUN : ""}${encodeEntry(entry)}\n`;
}

const NOTHING = () => {};
