import { type FileHandle, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type AuditEntry, decodeEntry, encodeEntry } from "./entry.ts";

const SEGMENT_NAME = /^(\d{12})\.ndjson$/;
const SEGMENT_BYTES = 4 * 1024 * 1024;

/** A journal's file, numbered in the order of writing. */
export type Segment = number;

export interface JournalOptions {
  /** Made if absent. */
  readonly folder: string;
  /** Whether an entry must have reached the disk (`true`) or only the operating system. */
  readonly sync: boolean;
}

/**
 * The node's local write-ahead file of audit entries: append-only segments, one line an entry. What was appended
 * survives the process. Entries of requests that end together share one write.
 */
export class Journal {
  readonly #folder: string;
  readonly #sync: boolean;
  #segment: Segment;
  #file: FileHandle | null = null;
  #bytes = 0;
  #waiting: Append[] = [];
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

  /** Resolves with the segment once the entry would survive this process. */
  append(entry: AuditEntry): Promise<Segment> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line: `${encodeEntry(entry)}\n`, resolve, reject });
      if (this.#waiting.length === 1) this.#writing = this.#writing.then(() => this.#writeWaiting());
    });
  }

  /** The entries of a segment. A torn last line, of a request that never ended for its client, is dropped. */
  async read(segment: Segment): Promise<readonly AuditEntry[]> {
    const lines = (await readFile(this.#path(segment), "utf8")).split("\n");
    // What follows the last newline is empty, or was torn by a crash.
    return lines.slice(0, -1).map(decodeEntry);
  }

  /** Deletes a segment whose entries are all in the database. */
  async drop(segment: Segment): Promise<void> {
    await unlink(this.#path(segment));
  }

  /** Begins a new segment, so that the old one can be dropped. @returns the old one, `null` if it is empty. */
  async rotate(): Promise<Segment | null> {
    let ended: Segment | null = null;
    this.#writing = this.#writing.then(async () => {
      ended = await this.#endSegment();
    });
    await this.#writing;
    return ended;
  }

  /** True when the segment is the one being written. */
  isOpen(segment: Segment): boolean {
    return segment === this.#segment;
  }

  async close(): Promise<void> {
    await this.rotate();
  }

  async #writeWaiting(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length === 0) return;
    try {
      this.#file ??= await open(this.#path(this.#segment), "a", 0o600);
      const bytes = Buffer.from(batch.map((append) => append.line).join(""));
      await this.#file.writeFile(bytes);
      if (this.#sync) await this.#file.datasync();
      this.#bytes += bytes.length;
    } catch (error) {
      for (const append of batch) append.reject(error);
      // The segment may end in half a line now: nothing more goes into it.
      await this.#endSegment().catch(() => null);
      return;
    }
    const segment = this.#segment;
    if (this.#bytes >= SEGMENT_BYTES) await this.#endSegment();
    for (const append of batch) append.resolve(segment);
  }

  async #endSegment(): Promise<Segment | null> {
    if (this.#file === null) return null;
    const file = this.#file;
    const ended = this.#segment;
    this.#file = null;
    this.#bytes = 0;
    this.#segment++;
    await file.close();
    return ended;
  }

  #path(segment: Segment): string {
    return join(this.#folder, `${String(segment).padStart(12, "0")}.ndjson`);
  }
}

interface Append {
  readonly line: string;
  readonly resolve: (segment: Segment) => void;
  readonly reject: (error: unknown) => void;
}
